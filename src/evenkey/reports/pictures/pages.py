"""HTML pages: fill templates, insert plots, write the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.core.whole_files import try_to_write, write_whole
from evenkey.reports.pictures.drawing import matplotlib
from evenkey.reports.pictures.theme import THEMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from jinja2 import Environment

    from evenkey.reports.pictures.chart import Plot

WIDTHS = {"wide": 960, "narrow": 350}
"""Widths at which plots are drawn, in CSS pixels: for laptops and for phones. The style sheet shows
the one that fits."""


def check_packages() -> None:
    """Raise `ConfigurationError` if a package that pages need is not installed."""
    matplotlib()
    _environment()


def check_page(option: str, file: Path) -> None:
    """Check that a page can be drawn and written, before other work begins.

    Parameters
    ----------
    option
        Name of the option that names the file, for the error message.
    file
        Path of the page.

    Raises
    ------
    ConfigurationError
        A package is not installed, the file is a directory, or its directory does not exist or
        cannot be written to.
    """
    check_packages()
    if file.is_dir() or not file.absolute().parent.is_dir():
        message = (
            f"{option} = {str(file)!r}: name a file in a folder that exists, such as page.html"
        )
        raise ConfigurationError(message)
    try:
        try_to_write(file.parent)
    except OSError as error:
        message = (
            f"{option} = {str(file)!r}: it cannot be written ({error.strerror}); name a file in a "
            "folder that you may write to"
        )
        raise ConfigurationError(message) from None


def write_page(
    file: Path, template: Traversable, plots: Sequence[Plot] = (), **values: Any
) -> Path:
    """Write a self-contained page, and return its path.

    The page has no script and loads nothing. It has a light and a dark theme.

    Parameters
    ----------
    file
        Path of the page; the file appears only when it is complete.
    template
        The template, which extends ``base.html`` and may include ``plot.html``, ``plots.html`` and
        ``table.html``.
    plots
        Plots. The template's variable ``plots`` has the ``title`` and ``note`` of each, and its
        images by the names in `WIDTHS`.
    values
        All other variables of the template.

    Raises
    ------
    ConfigurationError
        A package is not installed; the message names the extra that installs it.
    """
    text = (
        _environment()
        .from_string(template.read_text("utf-8"))
        .render(plots=[_drawn(*each) for each in enumerate(plots)], themes=THEMES, **values)
    )
    write_whole(file, text.encode())
    return file


def _drawn(number: int, plot: Plot) -> dict[str, str]:
    images = {name: plot.draw(width, f"plot-{number}-{name}") for name, width in WIDTHS.items()}
    return {"title": plot.title, "note": plot.note, **images}


def _environment() -> Environment:
    jinja2 = load_extra("jinja2", "pages", "a page")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["code"] = _with_code
    return environment


def _with_code(text: str) -> str:
    """Return text as HTML; what is between backticks becomes code."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped
