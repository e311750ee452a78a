"""Doors of rooms: what opens late, and old names, which give the new ones.

A name that version 0.2 changed is gone: who uses it gets one line that gives the new one. Nothing
answers to two names.
"""

from __future__ import annotations

import functools
import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from evenkey.checking import shown
from evenkey.errors import ConfigurationError
from evenkey.extras import named_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = ParamSpec("P")
R = TypeVar("R")


def late(
    room: str, homes: Mapping[str, str], gone: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a room whose names need Spark, or are slow to import.

    Configurations are so made and checked, and help is shown, without Spark.

    Parameters
    ----------
    room
        Its ``__name__``.
    homes
        Name to the module that has it.
    gone
        Old name to what has taken its place. It raises ImportError, by ``import`` and as an
        attribute alike: Python replaces the text of an AttributeError by its own on import.

    Examples
    --------
    >>> late("shop", {}, {"Bun": "Roll"})("Bun")
    Traceback (most recent call last):
    ImportError: shop.Bun: since version 0.2 it is Roll
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - what a module calls it
        if name in homes:
            try:
                module = importlib.import_module(homes[name])
            except ModuleNotFoundError as error:
                raise named_extra(error, f"{room}.{name}") from error
            return getattr(module, name)
        if name in gone:
            message = f"{room}.{name}: since version 0.2 it is {gone[name]}"
            raise ImportError(message, name=room)
        message = f"module {room!r} has no attribute {name!r}"
        raise AttributeError(message)

    return __getattr__


def without(**mends: str | Callable[[object], str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function answer for arguments that version 0.2 took from it, with what to do instead.

    Parameters
    ----------
    mends
        Old name to what has taken its place, where ``{value}`` stands for the value passed; or to
        a function that says it of the value.

    Examples
    --------
    >>> @without(size="it is amount")
    ... def order(amount=1):
    ...     return amount
    >>> order(size=2)
    Traceback (most recent call last):
    evenkey.errors.ConfigurationError: order: size = 2: since version 0.2 it is amount
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            for name, mend in mends.items():
                if name in options:
                    value = options[name]
                    text = mend.format(value=shown(value)) if isinstance(mend, str) else mend(value)
                    message = (
                        f"{function.__name__}: {name} = {shown(value)}: since version 0.2 {text}"
                    )
                    raise ConfigurationError(message)
            return function(*args, **options)

        return call

    return decorate
