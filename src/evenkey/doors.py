"""Doors of rooms that open late: what a room offers is imported when it is first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["late"]


def late(room: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a room whose names need Spark, or are slow to import.

    Configurations are so made and checked, and help is shown, without Spark.

    Parameters
    ----------
    room
        Its ``__name__``.
    homes
        Name to the module that has it.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - what a module calls it
        if name in homes:
            return getattr(importlib.import_module(homes[name]), name)
        message = f"module {room!r} has no attribute {name!r}"
        raise AttributeError(message)

    return __getattr__
