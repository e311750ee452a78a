"""Matplotlib, which draws the charts of pages: as SVG, in the colours of the page around it."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

from evenkey.core.extras import load_extra
from evenkey.reports.pictures.theme import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from matplotlib.figure import Figure

_UNITS_PER_INCH = 72
_LIGHT = THEMES["light"]
_VARIABLES = {colour: f"var({name})" for name, colour in _LIGHT.variables().items()}
_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _LIGHT.muted,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": _LIGHT.muted,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": _LIGHT.ink,
    "axes.titlelocation": "left",
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "figure.constrained_layout.h_pad": 0.08,
    "figure.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 12,
    "grid.color": _LIGHT.grid,
    "legend.borderaxespad": 0,
    "legend.borderpad": 0,
    "legend.frameon": False,
    "legend.labelcolor": _LIGHT.ink,
    "svg.fonttype": "none",
    "text.color": _LIGHT.ink,
    "text.parse_math": False,
    "xtick.color": _LIGHT.muted,
    "ytick.color": _LIGHT.muted,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}


def matplotlib() -> ModuleType:
    """Import Matplotlib, with all modules of Matplotlib that this package uses.

    Raises
    ------
    ConfigurationError
        Matplotlib is not installed; the message names the extra that installs it.
    """
    for name in ("figure", "lines", "style", "ticker"):
        load_extra(f"matplotlib.{name}", "pages", "a chart")
    module: ModuleType = load_extra("matplotlib", "pages", "a chart")
    return module


def svg(title: str, name: str, size: tuple[float, float], draw: Callable[[Figure], object]) -> str:
    """Draw an image as an SVG element for an HTML page.

    Text is text, in the page's font. Each colour of the light theme becomes a CSS variable, so that
    the image follows the theme of the page.

    Parameters
    ----------
    title
        What the image shows, for people who do not see it.
    name
        Name of the image. No two images of a page have the same.
    size
        Width and height, in CSS pixels.
    draw
        Function that draws on an empty figure.
    """
    engine = matplotlib()
    width, height = size
    inches = (width / _UNITS_PER_INCH, height / _UNITS_PER_INCH)
    with engine.style.context(["default", {**_STYLE, "svg.hashsalt": name}]):
        figure = engine.figure.Figure(figsize=inches, layout="constrained")
        draw(figure)
        written = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    head = (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'role="img" aria-label="{escape(title)}">'
    )
    return head + _inline(written.getvalue())


def _inline(document: str) -> str:
    """Return what is in an SVG document, as a part of a page."""
    text = re.sub(r"^.*?<svg[^>]*>", "", document, count=1, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style.*?</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r' id="[\w.]+_\d+"', "", text)  # names of groups, which each image repeats
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _VARIABLES.get(found[0], found[0]), text)
