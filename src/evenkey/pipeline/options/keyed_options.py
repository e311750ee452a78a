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
"""Where the reference's defaults are not those of evenkey."""


class KeyedOptions(InputOptions, GroupingOptions, WorkOptions, EpochOptions, RunOptions):
    """An input in epochs, a grouping, a cost, and where the run runs; a part of others."""

    reference_defaults: bool = option(
        "Run",
        default=False,
        description="The reference's defaults: 1 ms a message, 10 days, 10 aggregators.",
        free=True,
    )

    def derive(self) -> None:
        """Set the reference's defaults, where these are asked for."""
        if self.reference_defaults:
            for name, value in _REFERENCE_DEFAULTS.items():
                if name not in self.model_fields_set:
                    self.set_derived(name, value)
        super().derive()

    def check_paths(self) -> None:
        """Make sure that the output lies outside of the input.

        Raises
        ------
        ConfigurationError
            It does not, or cannot be written.
        """
        check_outside(self.output, self.input)
        super().check_paths()
