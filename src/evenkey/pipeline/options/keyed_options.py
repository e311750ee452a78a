"""The options that all runs over keyed messages have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.pipeline.options.grouping_options import GroupingOptions, WorkOptions
from evenkey.pipeline.options.input_options import EpochOptions, InputOptions
from evenkey.pipeline.options.named_files import check_outside
from evenkey.pipeline.options.option_fields import option
from evenkey.pipeline.options.run_options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE_DEFAULTS: Mapping[str, Any] = {
    "cost_ms": 1.0,
    "time_limit": 864_000.0,
    "aggregators": 10,
}
"""Defaults of the reference implementation that differ from evenkey's."""


class KeyedOptions(InputOptions, GroupingOptions, WorkOptions, EpochOptions, RunOptions):
    """Options for input, epochs, grouping, cost and the run; a base class of configurations."""

    reference_defaults: bool = option(
        "Run",
        default=False,
        description="Use the defaults of the reference implementation: 1 ms per message, a time "
        "limit of 10 days, 10 aggregators.",
        free=True,
    )

    def derive(self) -> None:
        """Set the defaults of the reference implementation if `reference_defaults` is set."""
        if self.reference_defaults:
            for name, value in _REFERENCE_DEFAULTS.items():
                if name not in self.model_fields_set:
                    self.set_derived(name, value)
        super().derive()

    def check_paths(self) -> None:
        """Check that the output is outside the input.

        Raises
        ------
        ConfigurationError
            The output is inside the input, or cannot be written.
        """
        check_outside(self.output, self.input)
        super().check_paths()
