"""Lazy imports: a package imports some of its names when they are first used."""

from __future__ import annotations

import ast
import functools
import importlib
import linecache
import sys
from typing import TYPE_CHECKING, Any

from evenkey.core.extras import named_extra

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_names(package: str) -> Callable[[str], Any]:
    """Make a ``__getattr__`` for a package, which imports a name when the name is first used.

    The names are those that the package imports in its block ``if TYPE_CHECKING:``. They need Spark
    or are slow to import.

    Parameters
    ----------
    package
        ``__name__`` of the package.

    Examples
    --------
    >>> lazy_names("evenkey")("simulate").__name__
    'simulate'
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - what a module calls it
        if name not in _homes(package):
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        try:
            module = importlib.import_module(_homes(package)[name])
        except ModuleNotFoundError as error:
            raise named_extra(error, f"{package}.{name}") from error
        return getattr(module, name)

    return __getattr__


@functools.cache
def _homes(package: str) -> dict[str, str]:
    """Return, for each lazy name of a package, the module that it is imported from."""
    known = vars(sys.modules[package])
    source = "".join(linecache.getlines(known["__file__"], known))  # reads zip archives too
    blocks = [
        node.body
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {
        alias.name: each.module
        for block in blocks
        for each in block
        if isinstance(each, ast.ImportFrom) and each.module is not None
        for alias in each.names
    }
