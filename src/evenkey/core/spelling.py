"""Spellings of objects on the command line and in configuration: ``name(param=value,...)``.

Groupings, streams and aggregators share one parser and one formatter, so that all have the same
syntax and the same error messages.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
import sys
import types
import typing
from typing import Any, TypeVar

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")
_SPELLING = re.compile(
    r"\s*(?P<name>[a-z0-9][\w-]*)\s*(?:\((?P<arguments>[^()]*)\))?\s*", re.IGNORECASE
)
_offers: list[Callable[[], object]] = []
"""Functions that import further modules, and so make the classes in them known."""


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Split a spelling into its name and its parameters; names and values remain text.

    Raises
    ------
    ConfigurationError
        The text is not of the form ``name`` or ``name(param=value,...)``, or it
        gives a parameter twice.

    Examples
    --------
    >>> parse("pkg(choices=3)")
    ('pkg', {'choices': '3'})
    >>> parse("sg")
    ('sg', {})
    """
    given: object = text  # callers without a type checker pass anything
    match = _SPELLING.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        message = f"{shown(text)} cannot be read: write name or name(param=value,...)"
        raise ConfigurationError(message)
    parameters: dict[str, str] = {}
    for argument in split_list(match["arguments"] or ""):
        key, equals, value = (part.strip() for part in argument.partition("="))
        if not (key and equals and value):
            message = f"{text!r}: {argument!r} is not of the form param=value"
            raise ConfigurationError(message)
        if key in parameters:
            message = f"{text!r}: parameter {key!r} is given twice; give it once"
            raise ConfigurationError(message)
        parameters[key] = value
    return match["name"].lower(), parameters


def split_list(text: str) -> list[str]:
    """Split a comma-separated list of spellings; a comma inside brackets does not split.

    Examples
    --------
    >>> split_list("sg, pkg(choices=3), dkg(variant=reference,warm_up=5)")
    ['sg', 'pkg(choices=3)', 'dkg(variant=reference,warm_up=5)']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def spell(name: str, parameters: Mapping[str, object]) -> str:
    """Write a name with parameters as a spelling, the inverse of `parse`.

    Examples
    --------
    >>> spell("pkg", {"choices": 3})
    'pkg(choices=3)'
    >>> spell("sg", {})
    'sg'
    """
    inside = ",".join(f"{key}={_value_text(value)}" for key, value in parameters.items())
    return f"{name}({inside})" if inside else name


def spell_changed(thing: Any) -> str:
    """Return the spelling of a dataclass with a ``name``; leave out values that are defaults."""
    changed = {
        field.name: getattr(thing, field.name)
        for field in dataclasses.fields(thing)
        if field.init and getattr(thing, field.name) != field.default
    }
    return spell(thing.name, changed)


def classes_of(base: type[Any]) -> Iterator[type[Any]]:
    """Yield evenkey's own subclasses of a class that are imported and not abstract."""
    for cls in base.__subclasses__():
        if cls.__module__.startswith("evenkey.") and not inspect.isabstract(cls):
            yield cls
        yield from classes_of(cls)


def read(
    kind: str,
    text: str,
    known: Mapping[str, type[T]],
    more: Callable[[], Mapping[str, type[T]]] | None = None,
) -> T:
    """Build the object that a spelling names.

    Parameters
    ----------
    kind
        Kind of the object, for messages, such as ``"grouping"``.
    text
        The spelling.
    known
        The known classes by name, which must be dataclasses as `build` describes.
    more
        Function that returns the known classes by name after further modules are imported. None: no
        further module has such classes.

    Raises
    ------
    ConfigurationError
        A name or a parameter is unknown, or a value is invalid. The message lists the valid names,
        parameters or values.
    """
    if not isinstance(text, str):
        example = next(iter(sorted(known)), "name")
        message = f"{kind} = {shown(text)}: must be a spelling or an object, such as {example!r}"
        if isinstance(text, type):
            message = f"{kind} = {shown(text)}: pass an object of this class: {text.__name__}(...)"
        raise ConfigurationError(message)
    name, parameters = parse(text)
    if name not in known and more is not None:
        take_offers()
        known = more()
    if name not in known:
        error = unknown_name(kind, name, known, importable=more is not None)
        raise error
    return build(kind, known[name], name, parameters)


def unknown_name(
    kind: str, name: str, known: Iterable[str], *, importable: bool = False
) -> ConfigurationError:
    """Make the error for an unknown name; it lists the known names.

    Parameters
    ----------
    kind, name
        Kind of the object, and the unknown name.
    known
        The known names.
    importable
        Whether importing a further module can make more names known.

    Examples
    --------
    >>> print(unknown_name("grouping", "pgk", ["kg", "pkg"]))
    unknown grouping 'pgk' (did you mean 'pkg'?); there are: kg, pkg
    """
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    more = _where_more_are() if importable else ""
    message = f"unknown {kind} {name!r}{hint}; there are: {', '.join(known)}{more}"
    return ConfigurationError(message)


def fields_of(cls: type) -> dict[str, Any]:
    """Return the name and the resolved type of each parameter of a dataclass, in order."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def build(kind: str, cls: type[T], name: str, parameters: Mapping[str, str]) -> T:
    """Build a frozen dataclass from textual parameters, converting each to its field's type.

    Parameters
    ----------
    kind
        Kind of the object, for messages: ``"grouping"``, ``"dataset"``, ``"aggregator"``.
    cls
        A dataclass. The type of each field is ``bool``, ``int``, ``float``, ``str``, a ``Literal``
        of these, or a class that can be built from one text. A field can also allow ``None``, which
        is spelled ``none``.
    name
        Name of the object in the spelling, for messages.
    parameters
        Value of each parameter by name, as text, from `parse`.

    Raises
    ------
    ConfigurationError
        A parameter is unknown or missing, or its value is invalid. The message lists the valid
        parameters or values.
    """
    fields = fields_of(cls)
    values: dict[str, object] = {}
    for key, text in parameters.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            has = ", ".join(fields) or "none"
            message = f"{kind} {name!r} has no parameter {key!r}{hint}; it has: {has}"
            raise ConfigurationError(message)
        values[key] = _convert(f"{kind} {name!r}: {key}", text, fields[key])
    missing = [
        field.name
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        if field.init
        and field.name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        example = spell(name, dict.fromkeys(missing, "..."))
        message = f"{kind} {name!r} needs {', '.join(missing)}: write {example}"
        raise ConfigurationError(message)
    return cls(**values)


def _value_text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _convert(where: str, text: str, hint: Any, *, or_else: str = "") -> object:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = typing.get_args(hint)
        if text.lower() == "none" and type(None) in options:
            return None
        other = next(o for o in options if o is not type(None))
        return _convert(where, text, other, or_else=" or none" if type(None) in options else "")
    if origin is typing.Literal:
        choices = typing.get_args(hint)
        for choice in choices:
            if text == _value_text(choice):
                return choice
        allowed = ", ".join(map(_value_text, choices))
        message = f"{where} = {text!r}: must be one of {allowed}{or_else}"
        raise ConfigurationError(message)
    if hint is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        message = f"{where} = {text!r}: must be true or false{or_else}"
        raise ConfigurationError(message)
    try:
        return hint(text)
    except ConfigurationError:
        raise
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}.get(hint, hint.__name__)
        message = f"{where} = {text!r}: must be {wanted}{or_else}"
        raise ConfigurationError(message) from None


def offer(load: Callable[[], object]) -> None:
    """Register a function that imports classes; it is called before a name counts as unknown."""
    _offers.append(load)


def take_offers() -> None:
    """Call each registered function once."""
    while _offers:
        _offers.pop()()


def _where_more_are() -> str:
    """Return the end of a message about an unknown name: what to import for more names."""
    return (
        ""
        if "evenkey.papers" in sys.modules
        else "; import evenkey.papers to add the papers' names"
    )
