"""Make the pages of the eight public modules, on which mkdocstrings renders the docstrings."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from evenkey.core.printed_text import capitalized

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["MODULES", "module_page", "modules_page", "public_places"]

MODULES = {
    "evenkey": "runs, results, simulation, advice, diagnosis, and the usual aggregators",
    "evenkey.spark": "operators on DataFrames, profiles, and balanced sessions",
    "evenkey.groupings": "groupings as objects, and how to write your own",
    "evenkey.aggregators": "aggregators as objects, and how to write your own",
    "evenkey.joins": "joins of a stream with a static table",
    "evenkey.applications": "heavy hitters, classifiers, and learners of your own",
    "evenkey.kafka": "reads topics, writes to them, and holds the settings of Kafka's clients",
    "evenkey.checks": "checks that your own groupings and aggregators keep their contracts",
}
"""The public API (decision 236)."""
_ABOUT = """\
    options:
      members: []
      show_root_heading: false
      show_root_toc_entry: false"""
_INHERITED = {
    "Grouped": "true",
    "PipelineConfig": "[read, with_options]",
    "ApplicationConfig": "[read, with_options]",
    "LearnConfig": "[read, with_options]",
}
"""Classes whose public methods are those of private bases, and the methods to show."""
_BEGINS = "Examples of this module begin with these lines"
_SESSION = ("evenkey", "evenkey.kafka")
"""Modules whose examples use a session, and whose docstrings do not say so."""
_KINDS = ("functions", "classes", "errors", "constants")


def modules_page() -> str:
    """Return the page that lists all public names by module."""
    parts = [
        "# API",
        "The public API is eight modules. Everything else is private and may change.",
    ]
    for name, content in MODULES.items():
        module = importlib.import_module(name)
        parts.append(f"## [{name}]({name}.md)\n\n{capitalized(content)}.")
        for kind, names in _by_kind(module).items():
            linked = ", ".join(f"[`{each}`]({name}.md#{_path(module, each)})" for each in names)
            parts.append(f"{kind.capitalize()}: {linked}.")
    return "\n\n".join(parts) + "\n"


def module_page(name: str) -> str:
    """Return the page of a module: its purpose, then a heading per name."""
    module = importlib.import_module(name)
    parts = [f"# {name}", f"::: {name}\n{_ABOUT}", *_first_lines(module)]
    for kind, names in _by_kind(module).items():
        parts.append(f"## {kind.capitalize()}")
        parts += [f"::: {_path(module, each)}{_shown(each)}" for each in names]
    return "\n\n".join(parts) + "\n"


def public_places() -> dict[str, str]:
    """Return the places of modules and public names on the site, by full name.

    Examples
    --------
    >>> public_places()["evenkey.spark.route"]
    'api/evenkey.spark.md#evenkey.spark.route'
    """
    places = {}
    for module in map(importlib.import_module, MODULES):
        page = f"api/{module.__name__}.md"
        if "." in module.__name__:
            places[module.__name__] = page
        for name in module.__all__:
            places[f"{module.__name__}.{name}"] = f"{page}#{_path(module, name)}"
    return places


def _first_lines(module: ModuleType) -> list[str]:
    """Return the lines with which examples begin, unless the module's docstring has them."""
    if _BEGINS in (module.__doc__ or ""):
        return []
    lines = [f"from {module.__name__} import *"]
    if module.__name__ in _SESSION:
        lines += ["from evenkey.spark import session", "", "spark = session()"]
    return [f"{_BEGINS}:", "\n".join(["```python", *lines, "```"])]


def _shown(name: str) -> str:
    """Return the options of mkdocstrings for a name."""
    inherited = _INHERITED.get(name)
    return f"\n    options:\n      inherited_members: {inherited}" if inherited else ""


def _path(module: ModuleType, name: str) -> str:
    """Return a name's path for mkdocstrings.

    It is the path of the definition if a public module has a file of the same name: mkdocstrings
    would show this file.
    """
    files = {f"{each}.{name}" for each in MODULES}
    defined = f"{getattr(getattr(module, name), '__module__', '')}.{name}"
    return defined if files & sys.modules.keys() else f"{module.__name__}.{name}"


def _by_kind(module: ModuleType) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for name in module.__all__:
        found[_kind(getattr(module, name))].append(name)
    return {kind: names for kind, names in found.items() if names}


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return "errors" if issubclass(value, Exception) else "classes"
    return "functions" if inspect.isfunction(value) else "constants"
