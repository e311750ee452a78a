"""How things are spelled on the command line and in configuration: ``name(param=value,...)``.

One parser and one printer serve groupings, streams and aggregators, so that all of
them are spelled alike and all report mistakes alike.
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
"""Functions that import more classes with names."""


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Split a spelling into its name and its parameters, both still text.

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
    for argument in filter(None, map(str.strip, (match["arguments"] or "").split(","))):
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
    """Split a comma-separated list of spellings, leaving commas inside brackets alone.

    Examples
    --------
    >>> split_list("sg, pkg(choices=3), dkg(variant=reference,warm_up=5)")
    ['sg', 'pkg(choices=3)', 'dkg(variant=reference,warm_up=5)']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def spell(name: str, parameters: Mapping[str, object]) -> str:
    """Spell a name with parameters, the inverse of `parse`.

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
    """Spell a dataclass with a ``name``, and its parameters that differ from their defaults."""
    changed = {
        field.name: getattr(thing, field.name)
        for field in dataclasses.fields(thing)
        if field.init and getattr(thing, field.name) != field.default
    }
    return spell(thing.name, changed)


def classes_of(base: type[Any]) -> Iterator[type[Any]]:
    """Give the package's classes below another that are imported and not abstract."""
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
    """Make what a spelling names.

    Parameters
    ----------
    kind
        What it is, for messages.
    text
        The spelling.
    known
        The classes that there are, by name; see `build`.
    more
        Gives them again, where more of them may have been imported.

    Raises
    ------
    ConfigurationError
        There is no such name or parameter, or a value does not fit; the message lists what
        there is.
    """
    if not isinstance(text, str):
        example = next(iter(sorted(known)), "name")
        message = f"{kind} = {shown(text)}: must be a spelling or an object, such as {example!r}"
        if isinstance(text, type):
            message = f"{kind} = {shown(text)}: pass an object of it: {text.__name__}(...)"
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
    """Make the error for a name that does not exist: it lists those that do.

    Parameters
    ----------
    kind, name
        What is unknown.
    known
        The names that there are.
    importable
        Whether there are more of the kind to import.

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
    """Name and resolved type of each parameter of a dataclass, in order."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def build(kind: str, cls: type[T], name: str, parameters: Mapping[str, str]) -> T:
    """Build a frozen dataclass from textual parameters, converting each to its field's type.

    Parameters
    ----------
    kind
        What it is, for messages: ``"grouping"``, ``"dataset"``, ``"aggregator"``.
    cls
        A dataclass whose fields are of type ``bool``, ``int``, ``float``, ``str``,
        a ``Literal`` of these, a class that reads itself from text, or one of them or ``None``
        (spelled ``none``).
    name
        How the thing is spelled, for messages.
    parameters
        Parameter name to text, as `parse` gives them.

    Raises
    ------
    ConfigurationError
        A parameter does not exist, is missing, or its value does not fit; the message
        lists the parameters or values that do.
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
    """Have a function called before a name is said to be unknown: it imports more of them."""
    _offers.append(load)


def take_offers() -> None:
    """Import all that is offered, once."""
    while _offers:
        _offers.pop()()


def _where_more_are() -> str:
    """Say, for a message about an unknown name, what else could be imported."""
    return "" if "evenkey.papers" in sys.modules else "; import evenkey.papers for the papers' own"
