"""Texts with users' names: ``shop.folds:visits``, an aggregator; ``orders=count``, a result."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.aggregators.base import Aggregator
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import split_list

if TYPE_CHECKING:
    from types import ModuleType

_NAMED = re.compile(r"\s*([^\W\d][\w-]*)\s*=\s*(.*)", re.DOTALL)
_PLACE = re.compile(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)\s*")


def is_place(text: str) -> bool:
    """Return whether a text has the form ``module:name``.

    Examples
    --------
    >>> is_place("shop.folds:visits"), is_place("count")
    (True, False)
    """
    return _PLACE.fullmatch(text) is not None


def at_place(text: str) -> Aggregator:
    """Import the aggregator that a text ``module:name`` names.

    The module may be in the current directory.

    Raises
    ------
    ConfigurationError
        There is no such module, or it has no aggregator of that name.
    """
    module, name = _imported(text), _parts(text)[1]
    found = getattr(module, name, None)
    if isinstance(found, Aggregator):
        return found
    what = "has no such name" if found is None else f"has a {type(found).__name__} of that name"
    there = sorted(each for each, value in vars(module).items() if isinstance(value, Aggregator))
    message = (
        f"aggregator = {text!r}: module {module.__name__} {what}; its aggregators are: "
        f"{', '.join(there) or 'none'}; make one with evenkey.fold"
    )
    raise ConfigurationError(message)


def modules_of(text: str) -> list[ModuleType]:
    """Import the modules that a spelling names, so that the caller can send them to workers.

    Parameters
    ----------
    text
        Spelling of one aggregator, or of several with names.
    """
    places = (each.rpartition("=")[2] for each in text.split(",") if "(" not in each)
    return [_imported(each) for each in places if is_place(each)]


def named_spellings(text: str) -> dict[str, str] | None:
    """Split ``orders=count,revenue=sum(column=amount)`` by name; None for any other form.

    Raises
    ------
    ConfigurationError
        A name occurs twice, or a part has no name.
    """
    if _NAMED.match(text.partition("(")[0]) is None:
        return None
    found: dict[str, str] = {}
    for part in split_list(text):
        match = _NAMED.fullmatch(part) if "=" in part.partition("(")[0] else None
        if match is None:
            message = f"{text!r}: {part!r} has no name; write name=aggregator, such as orders=count"
            raise ConfigurationError(message)
        if match[1] in found:
            message = f"{text!r}: two results are named {match[1]!r}; rename one"
            raise ConfigurationError(message)
        found[match[1]] = match[2]
    return found


def _parts(text: str) -> tuple[str, str]:
    match = _PLACE.fullmatch(text)
    assert match is not None  # noqa: S101 - callers have checked `is_place`
    return match[1], match[2]


def _imported(text: str) -> ModuleType:
    name, here = _parts(text)[0], str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        message = (
            f"aggregator = {text!r}: there is no module {name!r}, neither in {here} nor among the "
            "installed modules; name one that exists"
        )
        raise ConfigurationError(message) from None
    finally:
        sys.path.remove(here)
