"""Aggregators of users' own in texts: ``module:name``, as ``shop.folds:visits``."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.aggregators.base import Aggregator
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from types import ModuleType

_PLACE = re.compile(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)\s*")


def is_place(text: str) -> bool:
    """Say whether a text names a module and something in it.

    Examples
    --------
    >>> is_place("shop.folds:visits"), is_place("count")
    (True, False)
    """
    return _PLACE.fullmatch(text) is not None


def at_place(text: str) -> Aggregator:
    """Give the aggregator that a module has under a name.

    The module is looked for in the current directory too.

    Raises
    ------
    ConfigurationError
        There is no such module, or it has no aggregator of that name.
    """
    module, name = _imported(text), _parts(text)[1]
    found = getattr(module, name, None)
    if isinstance(found, Aggregator):
        return found
    what = "has no such name" if found is None else f"has there a {type(found).__name__}"
    there = sorted(each for each, value in vars(module).items() if isinstance(value, Aggregator))
    message = (
        f"aggregator = {text!r}: module {module.__name__} {what}, and aggregators: "
        f"{', '.join(there) or 'none'}; make one by evenkey.fold"
    )
    raise ConfigurationError(message)


def modules_of(text: str) -> list[ModuleType]:
    """Give the modules that a spelling names, which workers may not have.

    Parameters
    ----------
    text
        Of one aggregator, or of several with their names.
    """
    places = (each.rpartition("=")[2] for each in text.split(",") if "(" not in each)
    return [_imported(each) for each in places if is_place(each)]


def _parts(text: str) -> tuple[str, str]:
    match = _PLACE.fullmatch(text)
    assert match is not None  # noqa: S101 - callers have asked `is_place`
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
            "installed ones; name a module that is there"
        )
        raise ConfigurationError(message) from None
    finally:
        sys.path.remove(here)
