"""Pages of the six doors: every public name with its docstring, which mkdocstrings renders."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["DOORS", "door_page", "doors_page"]

DOORS = {
    "evenkey": "groupings, aggregators, runs, simulation, advice, diagnosis",
    "evenkey.spark": "operators on DataFrames",
    "evenkey.joins": "joins of a stream with a static table",
    "evenkey.applications": "word count, heavy hitters, learners, joins as runs",
    "evenkey.kafka": "topics",
    "evenkey.checks": "conformance of your own groupings and aggregators",
}
"""All that users need is in one of these (decision 107)."""
_ABOUT = """\
    options:
      members: []
      show_root_heading: false
      show_root_toc_entry: false"""
_KINDS = ("functions", "classes", "errors", "constants")


def doors_page() -> str:
    """Write the page that lists all public names, door by door."""
    parts = [
        "# API",
        "All that you need is in one of six modules; what lies further in may change.",
    ]
    for door, holds in DOORS.items():
        module = importlib.import_module(door)
        parts.append(f"## [{door}]({door}.md)\n\n{holds[0].upper()}{holds[1:]}.")
        for kind, names in _by_kind(module).items():
            linked = ", ".join(f"[`{name}`]({door}.md#{_path(module, name)})" for name in names)
            parts.append(f"{kind.capitalize()}: {linked}.")
    return "\n\n".join(parts) + "\n"


def door_page(door: str) -> str:
    """Write the page of a door: what it is for, then a heading a name."""
    module = importlib.import_module(door)
    parts = [f"# {door}", f"::: {door}\n{_ABOUT}"]
    for kind, names in _by_kind(module).items():
        parts.append(f"## {kind.capitalize()}")
        parts += [f"::: {_path(module, name)}" for name in names]
    return "\n\n".join(parts) + "\n"


def _path(module: ModuleType, name: str) -> str:
    """Give the path that a name is read by: its own where a file of the door is called so, too."""
    path = f"{module.__name__}.{name}"
    return f"{path}.{name}" if path in sys.modules else path


def _by_kind(module: ModuleType) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for name in module.__all__:
        found[_kind(getattr(module, name))].append(name)
    return {kind: names for kind, names in found.items() if names}


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return "errors" if issubclass(value, Exception) else "classes"
    return "functions" if inspect.isfunction(value) else "constants"
