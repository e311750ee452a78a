"""Checks of arguments: each error names the argument, its value and the fix, in one line."""

from __future__ import annotations

import dataclasses
import math
import numbers
import sys
import types
import typing
from functools import cache
from pathlib import Path
from typing import Any

from evenkey.core.errors import ConfigurationError

if typing.TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 80
_OWN = ("__evenkey_", "__worker")
"""Prefixes of the names of evenkey's own columns."""


def shown(value: object) -> str:
    """Format a value for a message of one line; a long value is shortened.

    Examples
    --------
    >>> shown(4), shown("4"), len(shown("4" * 1000))
    ('4', "'4'", 83)
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def columns_listed(names: Iterable[str]) -> str:
    """List the columns that a user can name; leave out columns that evenkey adds and removes.

    Examples
    --------
    >>> columns_listed(["user", "__worker", "__evenkey_merged_0"]), columns_listed([])
    ('user', 'none')
    """
    return ", ".join(each for each in names if not each.lower().startswith(_OWN)) or "none"


def whole_number(name: str, value: object, least: int | None = None) -> int:
    """Check that a value is a whole number, of Python or NumPy, and return it as an int.

    Raises
    ------
    ConfigurationError
        `value` is not a whole number, or is below `least`.

    Examples
    --------
    >>> whole_number("k", "4", 1)
    Traceback (most recent call last):
    evenkey.core.errors.ConfigurationError: k = '4': must be a whole number of at least 1; pass k=4
    """
    floor = "" if least is None else f" of at least {least}"
    if not _is_whole(value):
        example = _example(value, least)
        message = f"{name} = {shown(value)}: must be a whole number{floor}; pass {name}={example}"
        raise ConfigurationError(message)
    if least is not None and value < least:
        message = f"{name} = {value}: must be at least {least}; pass {name}={least} or more"
        raise ConfigurationError(message)
    return int(value)


def _example(value: object, least: int | None) -> int:
    """Return a whole number near `value`; 4 if `value` is not a number."""
    try:
        near = int(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        near = 4
    return near if least is None else max(near, least)


def number(
    name: str, value: object, *, above: float | None = None, least: float | None = None
) -> float:
    """Check that a value is a finite number, and return it as a float.

    Raises
    ------
    ConfigurationError
        `value` is not a finite number, is not larger than `above`, or is below `least`.
    """
    if not _is_number(value) or not math.isfinite(value):
        message = f"{name} = {shown(value)}: must be a finite number; pass {name}=1.0, for instance"
        raise ConfigurationError(message)
    found = float(value)
    if above is not None and found <= above:
        message = f"{name} = {value}: must be above {above:g}; pass a larger {name}"
        raise ConfigurationError(message)
    if least is not None and found < least:
        message = f"{name} = {value}: must be at least {least:g}; pass {name}={least:g} or more"
        raise ConfigurationError(message)
    return found


def check_text(name: str, value: object, example: str) -> None:
    """Check that a value is text.

    Raises
    ------
    ConfigurationError
        `value` is not text; the message shows `example`.
    """
    if not isinstance(value, str):
        message = f"{name} = {shown(value)}: must be text; pass {name}={example!r}, for instance"
        raise ConfigurationError(message)


def check_path(name: str, value: object) -> None:
    """Check that a value is a path, as text or as a `Path`.

    Raises
    ------
    ConfigurationError
        `value` is not a path, or is empty.
    """
    if not isinstance(value, str | Path) or not str(value):
        message = f"{name} = {shown(value)}: must be a path; pass {name}='directory', for instance"
        raise ConfigurationError(message)


def check_one_of(name: str, value: object, known: Iterable[object]) -> None:
    """Check that a value is one of the known values.

    Raises
    ------
    ConfigurationError
        `value` is not a known value; the message lists the known values.
    """
    known = list(known)
    # `in` would be wrong: True equals 1, and comparing a Spark column does not return a bool.
    if not any(type(each) is type(value) and each == value for each in known):
        listed = " or ".join(map(repr, known))
        message = f"{name} = {shown(value)}: must be {listed}"
        raise ConfigurationError(message)


def check_workers(workers: object) -> None:
    """Check that a number of workers is a whole number of at least 1.

    Raises
    ------
    ConfigurationError
        `workers` is not a whole number of at least 1.
    """
    count = whole_number("workers", workers)
    if count < 1:
        message = f"workers = {count}: there must be at least 1 worker; pass workers=1 or more"
        raise ConfigurationError(message)


def check_fields(thing: object) -> None:
    """Check that the value of each field of a dataclass has the type of the field's hint.

    It checks the hints ``int``, ``float``, ``str``, ``bool`` and ``Literal``, each of these also in
    a union with ``None``, and tuples of these. A field with another hint may have any value.
    Classes call `check_fields` before they check ranges, so that a text is never compared with a
    number.

    Raises
    ------
    ConfigurationError
        A value has a wrong type; the message begins with the name of the object.
    """
    cls: Any = type(thing)
    for field, hint in _hints(cls).items():
        _check(f"{_label(cls)}: {field}", field, getattr(thing, field), hint)


@cache
def _hints(cls: Any) -> dict[str, Any]:
    """Return the type hint of each field of a constructor, except hints that cannot be resolved."""
    wanted = {field.name for field in dataclasses.fields(cls) if field.init}
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        module = sys.modules.get(base.__module__)
        names = {} if module is None else vars(module)
        for name, hint in vars(base).get("__annotations__", {}).items():
            if name in wanted:
                holder = types.SimpleNamespace(__annotations__={name: hint})
                try:
                    hints |= typing.get_type_hints(holder, names)
                except (NameError, TypeError):  # only type checkers import the class
                    hints.pop(name, None)
    return hints


def _label(cls: type) -> str:
    names = (getattr(cls, attribute, None) for attribute in ("name", "family"))
    return next((name for name in names if isinstance(name, str)), cls.__name__)


def _check(where: str, field: str, value: object, hint: Any) -> None:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        others = [each for each in arguments if each is not types.NoneType]
        # With several types besides None, it is unclear which one the value is meant to have.
        if value is not None and len(others) == 1:
            _check(where, field, value, others[0])
    elif origin is typing.Literal:
        check_one_of(where, value, arguments)
    elif origin is tuple and Ellipsis in arguments:
        if not isinstance(value, tuple | list):
            message = f"{where} = {shown(value)}: must be a tuple; pass {field}=(...,)"
            raise ConfigurationError(message)
        for each in value:
            _check(where, field, each, arguments[0])
    else:
        _check_single(where, field, value, hint)


def _check_single(where: str, field: str, value: object, hint: Any) -> None:
    if hint is bool:
        check_one_of(where, value, (True, False))
    elif hint is int and not _is_whole(value):
        example = _example(value, None)
        message = f"{where} = {shown(value)}: must be a whole number; pass {field}={example}"
        raise ConfigurationError(message)
    elif hint is float and (not _is_number(value) or math.isnan(value)):
        message = f"{where} = {shown(value)}: must be a number; pass {field}=1.0, for instance"
        raise ConfigurationError(message)
    elif hint is str and not isinstance(value, str):
        message = f"{where} = {shown(value)}: must be text; pass {field}='...'"
        raise ConfigurationError(message)


def _is_whole(value: object) -> typing.TypeGuard[numbers.Integral]:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: object) -> typing.TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
