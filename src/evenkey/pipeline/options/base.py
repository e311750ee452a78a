"""What every configuration has: reading from files and options, and errors in words."""

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
    """A value as somebody wrote it on the command line, where a number can only be text."""

    __slots__ = ()


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

    # Inputs are hidden: an address that is refused for its password is not to be repeated.
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
            Its keys are the fields; dashes stand for underscores too. Relative paths in it
            are taken from the current directory, as those of options are.
        options
            Go before the file's values; None means that the option was not given. Numbers may be
            text here, as on the command line.

        Raises
        ------
        ConfigurationError
            The file cannot be read or is not TOML (the message has the line), or as for the
            class; the message names the file where a value of it is at fault.
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
        """Give the same configuration with other values of some options.

        What was derived from options is derived anew.
        """
        return type(self)(**{**self.model_dump(exclude_unset=True), **options})

    def given(self, *groups: type[Configuration]) -> dict[str, Any]:
        """Give the options of some groups that were set, as `with_options` takes them."""
        names = {name for group in groups for name in group.model_fields}
        return {
            name: value
            for name, value in self.model_dump(exclude_unset=True).items()
            if name in names
        }

    def manifest(self) -> dict[str, Any]:
        """Give every option as JSON can hold it, paths made absolute: what a run is known by."""
        return {
            name: _absolute(getattr(self, name), value)
            for name, value in self.model_dump(mode="json").items()
        }

    def free(self) -> set[str]:
        """Name the options that may change when a run goes on."""
        fields = type(self).model_fields
        free = {name for name, field in fields.items() if fact(field, "free")}
        return free - self.pinned().keys()

    def pinned(self) -> dict[str, str]:
        """Say of options that may not change when a run goes on why that is, where it is known."""
        fields = type(self).model_fields
        reasons = {name: fact(field, "pinned") for name, field in fields.items()}
        return {name: reason for name, reason in reasons.items() if reason}

    def layout(self) -> dict[str, Any]:
        """Give the options that say how epochs are laid out on workers, as `manifest` has them."""
        kept = {name for name, field in type(self).model_fields.items() if fact(field, "layout")}
        return {name: value for name, value in self.manifest().items() if name in kept}

    def check_paths(self) -> None:
        """Make sure, before anything starts, that what options name can be reached.

        Each group of options looks at its own, and then asks the next one.
        """

    def derive(self) -> None:
        """Set what follows from other options; each group its own, and then asks the next one."""

    def check(self) -> None:
        """Refuse options that do not go together; each group its own, and then asks the next one.

        Raises
        ------
        ConfigurationError
            The message names the options.
        """

    def set_derived(self, name: str, value: object) -> None:
        """Set an option that was not given.

        It goes past the frozen model, and is not among the fields that were set: `with_options`
        then derives it anew.
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
        # Pydantic takes true for 1.
        field = cls.model_fields[str(info.field_name)]
        if isinstance(value, bool) and field.annotation is not bool:
            message = f"{info.field_name} = {str(value).lower()}: must not be true or false"
            raise ValueError(message)
        # Pydantic reads numbers from text too.
        if isinstance(value, str) and not isinstance(value, _Written):
            kind = _number_of(field.annotation)
            if kind is not None:
                message = f"{info.field_name} = {value!r}: {_WANTED[kind]}"
                raise ValueError(message)
        return value


_WANTED = {
    bool: "must be true or false",
    int: "must be a whole number",
    float: "must be a number",
}


def _number_of(annotation: Any) -> type | None:
    """Say which kind of number an option is, perhaps beside None; None where it is none."""
    kinds = {*typing.get_args(annotation)} - {type(None)} or {annotation}
    return next((kind for kind in _WANTED if kinds == {kind}), None)


def check_configuration(config: object, kind: type[Configuration]) -> None:
    """Make sure that something is a configuration of a kind.

    Raises
    ------
    ConfigurationError
        It is not.
    """
    if isinstance(config, kind):
        return
    a = "an" if kind.__name__.startswith(tuple("AEIOU")) else "a"
    mend = f"pass {a} {kind.__name__}(...)"
    if isinstance(config, dict):
        mend += f"; {kind.__name__}(**options) makes one of a dict"
    message = f"config = {shown(config)}: {mend}"
    raise ConfigurationError(message)


def _absolute(value: object, written: object) -> object:
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, tuple) and any(isinstance(each, Path) for each in value):
        return [str(each.absolute()) for each in value]
    return written
