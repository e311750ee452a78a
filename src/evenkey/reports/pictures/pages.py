"""HTML pages: fill templates, insert plots and Plotly's script, write the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.core.whole_files import write_whole
from evenkey.reports.pictures.engine import plotly
from evenkey.reports.pictures.theme import THEMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jinja2 import Template

    from evenkey.reports.pictures.chart import Plot


def check_packages() -> None:
    """Raise `ConfigurationError` if a package that pages need is not installed."""
    plotly()
    _template("base.html", __package__)


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
        A package is not installed, the file is a directory, or its directory does not exist.
    """
    check_packages()
    if file.is_dir() or not file.absolute().parent.is_dir():
        message = (
            f"{option} = {str(file)!r}: name a file in a folder that exists, such as page.html"
        )
        raise ConfigurationError(message)


def write_page(
    file: Path, template: str, package: str, plots: Sequence[Plot] = (), **values: Any
) -> Path:
    """Write a self-contained page, and return its path.

    Parameters
    ----------
    file
        Path of the page; the file appears only when it is complete.
    template
        Name of the template, which extends ``base.html`` and may include ``plots.html`` and
        ``table.html``.
    package
        Package whose directory ``templates`` contains the template.
    plots
        Plots that ``plots.html`` shows.
    values
        All other variables of the template.

    Raises
    ------
    ConfigurationError
        A package is not installed; the message names the extra that installs it.
    """
    drawn, script = _drawn(plots)
    text = _template(template, package).render(
        plots=drawn, plotly=script, variables=THEMES["light"].style(), **values
    )
    write_whole(file, text.encode())
    return file


def _drawn(plots: Sequence[Plot]) -> tuple[list[dict[str, str]], str]:
    """Return the ``title``, ``html`` and ``note`` of each plot, and the script that plots need."""
    if not plots:
        return [], ""
    engine = plotly()
    parts = [
        {
            "title": plot.title,
            "note": plot.note,
            "html": engine.io.to_html(
                plot.figure,
                full_html=False,
                include_plotlyjs=False,
                div_id=f"plot-{number}",
                config={"displaylogo": False, "responsive": True},
            ),
        }
        for number, plot in enumerate(plots)
    ]
    return parts, engine.offline.get_plotlyjs()


def _template(name: str, package: str) -> Template:
    try:
        import jinja2
    except ImportError as error:
        message = "pages need jinja2, which is missing: pip install 'evenkey[pages]'"
        raise ConfigurationError(message) from error
    packages = dict.fromkeys([package, __package__])
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each) for each in packages]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)
