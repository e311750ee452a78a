"""What is imported when a name is not known: the papers' groupings and data sets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_offers: list[Callable[[], object]] = []


def offer(load: Callable[[], object]) -> None:
    """Have a function called before a name is said to be unknown: it imports more of them."""
    _offers.append(load)


def take_offers() -> None:
    """Import all that is offered, once."""
    while _offers:
        _offers.pop()()


def where_more_are() -> str:
    """Say, for a message about an unknown name, what else could be imported."""
    return "" if "evenkey.papers" in sys.modules else "; import evenkey.papers for the papers' own"
