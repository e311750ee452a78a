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
    """Options for master, time limit, output and exports; a base class of configurations."""

    time_limit: float | None = option(
        "Run",
        None,
        "Seconds after which the run ends with the current epoch.",
        gt=0,
        free=True,
        metavar="SECONDS",
    )
    master: Master | None = option(
        "Run",
        None,
        "Spark master; default: this machine, with as many slots as needed.",
        free=True,
        first=True,
        metavar="MASTER",
    )
    output: Place | None = option(
        "Output",
        None,
        "Directory for results, dead letters and the run's state: a path, or on a cluster a "
        "location that all its hosts share, such as s3a://BUCKET/NAME.",
        metavar="DIR",
        free=True,
        first=True,
    )
    export: Annotated[
        tuple[Annotated[str, AfterValidator(check_address)], ...], BeforeValidator(texts)
    ] = option(
        "Output",
        (),
        f"Destination of each epoch's metrics: {ADDRESSES}; may be given several times.",
        metavar="ADDRESS",
        free=True,
    )

    def check_paths(self) -> None:
        """Check that the output can be written, and that ``SPARK_MASTER`` names a Spark master.

        Raises
        ------
        ConfigurationError
            The output cannot be a directory, no store has its scheme, or ``SPARK_MASTER`` does not
            name a master.
        """
        if self.output is not None:
            check_output(self.output)
        if self.master is None:
            _check_environment_master()
        super().check_paths()


def _check_environment_master() -> None:
    """Check that the environment variable ``SPARK_MASTER``, if it is set, names a master."""
    text = os.environ.get("SPARK_MASTER")
    if not text:
        return
    try:
        TypeAdapter(Master).validate_python(text)
    except ValidationError as error:
        message = f"SPARK_MASTER = {text!r}: {error.errors()[0]['ctx']['error']}"
        raise ConfigurationError(message) from None
