"""The options that every run has."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import ADDRESSES, check_address
from evenkey.pipeline.options.base import Configuration
from evenkey.pipeline.options.named_files import check_output
from evenkey.pipeline.options.option_fields import Master, Place, option, texts


class RunOptions(Configuration):
    """Where a run runs, how long, and where it writes; a part of other configurations."""

    time_limit: float | None = option(
        "Run",
        None,
        "Seconds after which the run ends with the epoch that it is in.",
        gt=0,
        free=True,
    )
    master: Master | None = option(
        "Run",
        None,
        "Spark master; without it this machine, with as many slots as it takes.",
        free=True,
        first=True,
    )
    output: Place | None = option(
        "Output",
        None,
        "Directory for results, dead letters and the run's state: a path, or on a cluster a place "
        "that all its hosts share, such as s3a://BUCKET/NAME.",
        metavar="PATH",
        free=True,
        first=True,
    )
    export: Annotated[
        tuple[Annotated[str, AfterValidator(check_address)], ...], BeforeValidator(texts)
    ] = option(
        "Output",
        (),
        f"Where the metrics of each epoch go: {ADDRESSES}; may be given several times.",
        metavar="ADDRESS",
        free=True,
    )

    def check_paths(self) -> None:
        """Make sure that the output can be written, and that there is such a master.

        Raises
        ------
        ConfigurationError
            The output cannot be a directory, no store is known for its scheme, or
            ``SPARK_MASTER`` names no master.
        """
        if self.output is not None:
            check_output(self.output)
        if self.master is None:
            _check_environment_master()
        super().check_paths()


def _check_environment_master() -> None:
    """Make sure that ``SPARK_MASTER`` names a master, where no other is given."""
    text = os.environ.get("SPARK_MASTER")
    if not text:
        return
    try:
        TypeAdapter(Master).validate_python(text)
    except ValidationError as error:
        message = f"SPARK_MASTER = {text!r}: {error.errors()[0]['ctx']['error']}"
        raise ConfigurationError(message) from None
