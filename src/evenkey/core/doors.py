"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenkey.core.extras import named_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def late(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package whose names need Spark, or are slow to import.

    Configurations are so made and checked, and help is shown, without Spark.

    Parameters
    ----------
    package
        Its ``__name__``.
    homes
        Name to the module that has it.

    Examples
    --------
    >>> late("shop", {"sqrt": "math"})("sqrt")(9)
    3.0
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - what a module calls it
        if name in homes:
            try:
                module = importlib.import_module(homes[name])
            except ModuleNotFoundError as error:
                raise named_extra(error, f"{package}.{name}") from error
            return getattr(module, name)
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message)

    return __getattr__
