"""Plotly, which draws the live figures; it is imported when the first figure is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from evenkey.core.errors import ConfigurationError

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
    try:
        import plotly
        import plotly.graph_objects
        import plotly.io
        import plotly.subplots
    except ImportError as error:
        message = "live charts need plotly, which is missing: pip install 'evenkey[dashboard]'"
        raise ConfigurationError(message) from error
    module: ModuleType = plotly
    return module
