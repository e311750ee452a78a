"""Plotly, which draws: imported when the first picture is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from types import ModuleType

    from plotly import graph_objects

Figure: TypeAlias = "graph_objects.Figure"
"""A figure of Plotly's."""


def plotly() -> ModuleType:
    """Import Plotly, with all parts of it that are used here.

    Raises
    ------
    ConfigurationError
        It is not installed; the message names the extra that brings it.
    """
    try:
        import plotly
        import plotly.graph_objects
        import plotly.io
        import plotly.subplots
    except ImportError as error:
        message = "plots are drawn with plotly, which is missing: pip install 'evenkey[pages]'"
        raise ConfigurationError(message) from error
    module: ModuleType = plotly
    return module
