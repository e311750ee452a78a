"""The generated streams by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import build, classes_of, fields_of, spell, take_offers, unknown_name
from evenkey.core.spelling import parse as parse_spelling
from evenkey.core.streams.base import KeyStream
from evenkey.core.streams.country import CountrySkew

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams.published import Published

_WITH_PERCENT = re.compile(r"(?P<family>.+)-r(?P<percent>\d+)")


class Entry(NamedTuple):
    """A stream or family of streams: its spelling, a summary and its usual number of messages.

    `published` has the figures of the published data set that the stream imitates; None if the
    stream imitates no data set.
    """

    spelling: str
    summary: str
    usual_messages: int
    published: Published | None = None


def catalogue() -> list[Entry]:
    """List the generated streams: families with parameters, and streams with their own names.

    Examples
    --------
    >>> [entry.spelling for entry in catalogue() if entry.published is None]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['bursts(z=...,keys=...,every=...,burst=...,percent=...)', 'country-half-skew-rN',
     'country-skew-rN', 'drift(z=...,keys=...,every=...)', 'uniform(keys=...)',
     'zipf(z=...,keys=...)']
    """
    take_offers()
    return sorted(entry for cls in _families().values() for entry in _entries(cls))


def generated(
    name: str, *, messages: int | None = None, seed: int = 0, rate: float | None = None
) -> KeyStream:
    """Make a generated stream from its spelling.

    Parameters
    ----------
    name
        Spelling such as ``country-skew-r80``, ``zipf(z=1.4,keys=1000)`` or ``wikipedia-like``.
    messages
        Number of messages, at least 1. None: the usual number of this kind of stream.
    seed
        Seed of the random numbers. Another seed yields another stream of the same kind.
    rate
        Messages per second of event time, above 0. None: the rate at which the stream spans 400 s.

    Raises
    ------
    ConfigurationError
        The name or a parameter is unknown, or a value is invalid.

    Examples
    --------
    >>> generated("uniform(keys=10)", messages=5).batch(0, 5).ids.tolist()
    [7, 8, 5, 8, 8]
    """
    cls, parameters = _find(name)
    shared = {"seed": str(seed)}
    if messages is not None:
        shared["messages"] = str(messages)
    if rate is not None:
        shared["rate"] = repr(rate)
    return build("dataset", cls, cls.family, {**parameters, **shared})


def _find(name: str) -> tuple[type[KeyStream], dict[str, str]]:
    """Return the class that a spelling names, and the parameters in the spelling as text."""
    base, parameters = parse_spelling(name)
    matched = _WITH_PERCENT.fullmatch(base)
    if matched is None and base not in _families():
        take_offers()
    families = _families()
    fixed = {each: cls for cls in families.values() for each in cls.fixed}
    if (matched is not None or base in fixed) and parameters:
        message = f"{name!r}: {base} takes no parameters; write {base}"
        raise ConfigurationError(message)
    if base in fixed:
        return fixed[base], fixed[base].fixed[base]
    family = base if matched is None else matched["family"]
    cls = families.get(family)
    if cls is None or cls.fixed or (matched is None) == issubclass(cls, CountrySkew):
        there_are = [entry.spelling for entry in catalogue()]
        error = unknown_name("dataset", name, there_are, importable=True)
        raise error
    if matched is not None:
        return cls, {"percent": matched["percent"]}
    own = _own(cls)
    for parameter in parameters:
        if parameter not in own:
            error = unknown_name(f"parameter of dataset {family!r}:", parameter, own)
            raise error
    return cls, parameters


def _families() -> dict[str, type[KeyStream]]:
    return {cls.family: cls for cls in classes_of(KeyStream)}


def _entries(cls: type[KeyStream]) -> Iterator[Entry]:
    if issubclass(cls, CountrySkew):
        yield Entry(f"{cls.family}-rN", cls.summary, cls.usual_messages)
    elif cls.fixed:
        for name, parameters in cls.fixed.items():
            stream = build("dataset", cls, cls.family, parameters)
            yield Entry(name, stream.about, stream.length, stream.published)
    else:
        pattern = spell(cls.family, dict.fromkeys(_own(cls), "..."))
        yield Entry(pattern, cls.summary, cls.usual_messages)


def _own(cls: type[KeyStream]) -> list[str]:
    return [name for name in fields_of(cls) if name not in fields_of(KeyStream)]
