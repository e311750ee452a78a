"""What every configuration has: reading from files and options, and errors in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from evenkey.errors import ConfigurationError
from evenkey.options.errors import describe
from evenkey.options.files import read_toml

if TYPE_CHECKING:
    from typing import Self

    from pydantic import ValidationInfo

__all__ = ["Configuration"]


class Configuration(BaseModel):
    """A configuration; immutable, checked as a whole when it is made.

    Field names are the long options of the command line with underscores for dashes, and
    the keys of a configuration file.

    Raises
    ------
    ConfigurationError
        An option does not exist or its value cannot be; the message names the option, the
        value and what is allowed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **options: Any) -> None:
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise ConfigurationError(describe(error, type(self).model_fields)) from error

    @classmethod
    def read(cls, file: str | Path | None = None, **options: Any) -> Self:
        """Read a configuration from a TOML file, from options, or from both.

        Parameters
        ----------
        file
            Its keys are the fields; dashes stand for underscores too. Relative paths in it
            are taken from the current directory, as those of options are.
        options
            Go before the file's values; None means that the option was not given.

        Raises
        ------
        ConfigurationError
            The file cannot be read or is not TOML (the message has the line), or as for the
            class; the message names the file where a value of it is at fault.
        """
        told = {name: value for name, value in options.items() if value is not None}
        written = {} if file is None else read_toml(Path(file))
        try:
            return cls(**{**written, **told})
        except ConfigurationError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            sources = dict.fromkeys(written.keys() - told.keys(), file)
            message = describe(error.__cause__, cls.model_fields, sources)
            raise ConfigurationError(message) from error.__cause__

    def with_options(self, **options: Any) -> Self:
        """Give the same configuration with other values of some options.

        What was derived from options is derived anew.
        """
        return type(self)(**{**self.model_dump(exclude_unset=True), **options})

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        # Pydantic takes true for 1.
        field = cls.model_fields[str(info.field_name)]
        if isinstance(value, bool) and field.annotation is not bool:
            message = f"{info.field_name} = {str(value).lower()}: must not be true or false"
            raise ValueError(message)
        return value
