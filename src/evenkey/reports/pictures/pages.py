"""Pages: templates, plots as HTML, the script that draws them, whole files."""

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
    """Raise a ConfigurationError unless the packages that pages are made with are installed."""
    plotly()
    _template("base.html", __package__)


def check_page(option: str, file: Path) -> None:
    """Make sure, before anything is measured, that a page can be drawn and written.

    Parameters
    ----------
    option
        What names the file, for the message.
    file
        Where the page is to be.

    Raises
    ------
    ConfigurationError
        A package is missing, or the folder of the file is.
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
    """Write a page with all that it needs inside, and give its path.

    Parameters
    ----------
    file
        Where; it appears when it is whole.
    template
        Name of the template, which extends ``base.html`` and may include ``plots.html`` and
        ``table.html``.
    package
        Whose folder ``templates`` has it.
    plots
        What ``plots.html`` shows.
    values
        What else the template names.

    Raises
    ------
    ConfigurationError
        A package is not installed; the message names the extra that brings it.
    """
    drawn, script = _drawn(plots)
    text = _template(template, package).render(
        plots=drawn, plotly=script, variables=THEMES["light"].style(), **values
    )
    write_whole(file, text.encode())
    return file


def _drawn(plots: Sequence[Plot]) -> tuple[list[dict[str, str]], str]:
    """Give plots as HTML, each with its ``title`` and ``note``, and the script that they need."""
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
