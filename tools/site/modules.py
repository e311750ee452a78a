"""Make the pages of the eight public modules, on which mkdocstrings renders the docstrings."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["MODULES", "module_page", "modules_page"]

MODULES = {
    "evenkey": "runs, results, simulation, advice, diagnosis, the usual aggregators",
    "evenkey.spark": "operators on DataFrames",
    "evenkey.groupings": "groupings as objects, and how to write your own",
    "evenkey.aggregators": "aggregators as objects, and how to write your own",
    "evenkey.joins": "joins of a stream with a static table",
    "evenkey.applications": "heavy hitters, classifiers, your own learners",
    "evenkey.kafka": "topics",
    "evenkey.checks": "conformance of your own groupings and aggregators",
}
"""The public API (decision 236)."""
_ABOUT = """\
    options:
      members: []
      show_root_heading: false
      show_root_toc_entry: false"""
_KINDS = ("functions", "classes", "errors", "constants")


def modules_page() -> str:
    """Return the page that lists all public names by module."""
    parts = [
        "# API",
        "The public API is eight modules. Everything else is private and may change.",
    ]
    for name, content in MODULES.items():
        module = importlib.import_module(name)
        parts.append(f"## [{name}]({name}.md)\n\n{content[0].upper()}{content[1:]}.")
        for kind, names in _by_kind(module).items():
            linked = ", ".join(f"[`{each}`]({name}.md#{_path(module, each)})" for each in names)
            parts.append(f"{kind.capitalize()}: {linked}.")
    return "\n\n".join(parts) + "\n"


def module_page(name: str) -> str:
    """Return the page of a module: its purpose, then a heading per name."""
    module = importlib.import_module(name)
    parts = [f"# {name}", f"::: {name}\n{_ABOUT}"]
    for kind, names in _by_kind(module).items():
        parts.append(f"## {kind.capitalize()}")
        parts += [f"::: {_path(module, each)}" for each in names]
    return "\n\n".join(parts) + "\n"


def _path(module: ModuleType, name: str) -> str:
    """Return a name's path for mkdocstrings: of its definition, if a file has the same name."""
    path = f"{module.__name__}.{name}"
    return f"{getattr(module, name).__module__}.{name}" if path in sys.modules else path


def _by_kind(module: ModuleType) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for name in module.__all__:
        found[_kind(getattr(module, name))].append(name)
    return {kind: names for kind, names in found.items() if names}


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return "errors" if issubclass(value, Exception) else "classes"
    return "functions" if inspect.isfunction(value) else "constants"
