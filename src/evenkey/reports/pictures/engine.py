"""Plotly, which draws the live figures; it is imported when the first figure is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from evenkey.core.extras import load_extra

if TYPE_CHECKING:
    from types import ModuleType

    from plotly import graph_objects

Figure: TypeAlias = "graph_objects.Figure"
"""A Plotly figure."""


def plotly() -> ModuleType:
    """Import Plotly, with all modules of Plotly that this package uses.

    Raises
    ------
    ConfigurationError
        Plotly is not installed; the message names the extra that installs it.
    """
    for name in ("graph_objects", "io", "subplots"):
        load_extra(f"plotly.{name}", "dashboard", "a live chart")
    module: ModuleType = load_extra("plotly", "dashboard", "a live chart")
    return module
