"""The base class of configurations: reading from files and options, and clear errors."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.options.named_files import read_toml
from evenkey.pipeline.options.option_fields import fact
from evenkey.pipeline.options.pydantic_errors import describe

if TYPE_CHECKING:
    from typing import Self

    from pydantic import ValidationInfo


class _Written(str):
    """A value from the command line, where numbers are written as text."""

    __slots__ = ()


class Configuration(BaseModel):
    """A configuration; immutable, checked as a whole on creation.

    Field names are the long options of the command line with underscores for dashes, and
    the keys of a configuration file.

    Raises
    ------
    ConfigurationError
        An option does not exist or its value is invalid; the message names the option, the
        value and the allowed values.
    """

    # Hide inputs: an address that is rejected for its password must not be repeated.
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )

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
            A TOML file whose keys are the fields, with dashes or underscores. Relative paths start
            from the current directory, like those of options. None: no file.
        options
            Values that override those of the file; None means that the option was not given.
            Numbers may be text, as on the command line.

        Raises
        ------
        ConfigurationError
            The file cannot be read or is not TOML (the message has the line), or an option is
            invalid, as for the class. If the invalid value is from the file, the message names the
            file.
        """
        chosen = {
            name: _Written(value) if isinstance(value, str) else value
            for name, value in options.items()
            if value is not None
        }
        written = {} if file is None else read_toml(Path(file))
        try:
            return cls(**{**written, **chosen})
        except ConfigurationError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            sources = dict.fromkeys(written.keys() - chosen.keys(), file)
            message = describe(error.__cause__, cls.model_fields, sources)
            raise ConfigurationError(message) from error.__cause__

    def with_options(self, **options: Any) -> Self:
        """Return the same configuration with other values of some options.

        Options that `derive` computes from other options are computed again.
        """
        return type(self)(**{**self.model_dump(exclude_unset=True), **options})

    def given(self, *groups: type[Configuration]) -> dict[str, Any]:
        """Return the options of `groups` that were set, as arguments for `with_options`."""
        names = {name for group in groups for name in group.model_fields}
        return {
            name: value
            for name, value in self.model_dump(exclude_unset=True).items()
            if name in names
        }

    def manifest(self) -> dict[str, Any]:
        """Return every option with its value as JSON, to identify a run; paths are absolute."""
        return {
            name: _absolute(getattr(self, name), value)
            for name, value in self.model_dump(mode="json").items()
        }

    def free(self) -> set[str]:
        """Return the options that may change when a run continues."""
        fields = type(self).model_fields
        free = {name for name, field in fields.items() if fact(field, "free")}
        return free - self.pinned().keys()

    def pinned(self) -> dict[str, str]:
        """Return the options that may not change when a run continues, each with the reason."""
        fields = type(self).model_fields
        reasons = {name: fact(field, "pinned") for name, field in fields.items()}
        return {name: reason for name, reason in reasons.items() if reason}

    def layout(self) -> dict[str, Any]:
        """Return the options that determine how epochs are laid out on workers.

        The values are those of `manifest`.
        """
        kept = {name for name, field in type(self).model_fields.items() if fact(field, "layout")}
        return {name: value for name, value in self.manifest().items() if name in kept}

    def check_paths(self) -> None:
        """Check, before anything starts, that files and servers named by options can be reached.

        Each group of options (a base class) checks its own options, then calls the next group.
        """

    def derive(self) -> None:
        """Compute the options that depend on other options.

        Each group of options (a base class) sets its own options, then calls the next group.
        """

    def check(self) -> None:
        """Reject invalid combinations of options.

        Each group of options (a base class) checks its own options, then calls the next group.

        Raises
        ------
        ConfigurationError
            Options contradict each other; the message names them.
        """

    def set_derived(self, name: str, value: object) -> None:
        """Set an option that was not given, although the model is frozen.

        The option does not count as set, so `with_options` computes it again.
        """
        object.__setattr__(self, name, value)

    @model_validator(mode="after")
    def _derive_and_check(self) -> Self:
        self.derive()
        self.check()
        return self

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        # Pydantic would accept true as 1.
        kind = _number_of(cls.model_fields[str(info.field_name)].annotation)
        wanted = "must be text" if kind is None else _WANTED[kind]
        if isinstance(value, bool) and kind is not bool:
            message = f"{info.field_name} = {str(value).lower()}: {wanted}"
            raise ValueError(message)
        # Pydantic would also read numbers from text.
        if kind is not None and isinstance(value, str) and not isinstance(value, _Written):
            message = f"{info.field_name} = {value!r}: {wanted}"
            raise ValueError(message)
        return value


_WANTED = {
    bool: "must be true or false",
    int: "must be a whole number",
    float: "must be a number",
}


def _number_of(annotation: Any) -> type | None:
    """Return bool, int or float if an option has this type, with or without None; else None."""
    kinds = {*typing.get_args(annotation)} - {type(None)} or {annotation}
    return next((kind for kind in _WANTED if kinds == {kind}), None)


def check_configuration(config: object, kind: type[Configuration]) -> None:
    """Check that a value is a configuration of the class `kind`.

    Raises
    ------
    ConfigurationError
        The value is of another type.
    """
    if isinstance(config, kind):
        return
    a = "an" if kind.__name__.startswith(tuple("AEIOU")) else "a"
    remedy = f"pass {a} {kind.__name__}(...)"
    if isinstance(config, dict):
        remedy += f"; {kind.__name__}(**options) makes one from a dict"
    message = f"config = {shown(config)}: {remedy}"
    raise ConfigurationError(message)


def _absolute(value: object, written: object) -> object:
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, tuple) and any(isinstance(each, Path) for each in value):
        return [str(each.absolute()) for each in value]
    return written
