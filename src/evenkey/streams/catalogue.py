"""The generated streams by name."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.errors import ConfigurationError
from evenkey.spelling import build, fields_of, spell, unknown_name
from evenkey.spelling import parse as parse_spelling
from evenkey.streams.base import KeyStream
from evenkey.streams.country import CountrySkew

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entry", "catalogue", "generated"]

_LEVEL = re.compile(r"(?P<family>.+)-r(?P<percent>\d+)")


class Entry(NamedTuple):
    """A family of streams: how it is spelled, what it is, how long it usually is."""

    spelling: str
    summary: str
    usual_messages: int


def catalogue() -> list[Entry]:
    """List the families of generated streams.

    Examples
    --------
    >>> [entry.spelling for entry in catalogue()]  # doctest: +NORMALIZE_WHITESPACE
    ['country-half-skew-rN', 'country-skew-rN', 'drift(z=...,keys=...,every=...)',
     'uniform(keys=...)', 'zipf(z=...,keys=...)']
    """
    return [
        Entry(_pattern(cls), cls.summary, cls.usual_messages)
        for _, cls in sorted(_families().items())
    ]


def generated(
    name: str, *, messages: int | None = None, seed: int = 0, rate: float | None = None
) -> KeyStream:
    """Make a generated stream from its spelling.

    Parameters
    ----------
    name
        Such as ``country-skew-r80`` or ``zipf(z=1.4,keys=1000)``.
    messages, seed, rate
        As for `KeyStream`.

    Raises
    ------
    ConfigurationError
        There is no such stream or parameter, or a value does not fit.

    Examples
    --------
    >>> generated("uniform(keys=10)", messages=5).batch(0, 5).ids.tolist()
    [7, 8, 5, 8, 8]
    """
    family, parameters = parse_spelling(name)
    level = _LEVEL.fullmatch(family)
    if level is not None:
        if parameters:
            message = f"{name!r}: {family} takes no parameters; write {family}"
            raise ConfigurationError(message)
        family, parameters = level["family"], {"percent": level["percent"]}
    families = _families()
    if family not in families or (level is None) == issubclass(families[family], CountrySkew):
        error = unknown_name("dataset", name, map(_pattern, families.values()))
        raise error
    shared = {"seed": str(seed)}
    if messages is not None:
        shared["messages"] = str(messages)
    if rate is not None:
        shared["rate"] = repr(rate)
    own = [each for each in fields_of(families[family]) if each not in fields_of(KeyStream)]
    for parameter in parameters:
        if parameter not in own:
            error = unknown_name(f"parameter of dataset {family!r}:", parameter, own)
            raise error
    return build("dataset", families[family], family, {**parameters, **shared})


def _families() -> dict[str, type[KeyStream]]:
    return {cls.family: cls for cls in _descendants(KeyStream)}


def _descendants(cls: type[Any]) -> Iterator[type[KeyStream]]:
    for child in cls.__subclasses__():
        if child.__module__.startswith("evenkey.streams.") and not inspect.isabstract(child):
            yield child
        yield from _descendants(child)


def _pattern(cls: type[KeyStream]) -> str:
    if issubclass(cls, CountrySkew):
        return f"{cls.family}-rN"
    own = [name for name in fields_of(cls) if name not in fields_of(KeyStream)]
    return spell(cls.family, dict.fromkeys(own, "..."))
