"""What all pages share: templates, plots as HTML, the script that draws them, whole files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.errors import ConfigurationError
from evenkey.experiments.figures import plotly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Template

    from evenkey.experiments.experiment import Plot

__all__ = ["check_packages", "drawn", "template"]

_HOME = "evenkey.experiments"


def check_packages() -> None:
    """Raise a ConfigurationError unless the packages that pages are made with are installed."""
    plotly()
    template("index.html")


def drawn(plots: Sequence[Plot]) -> tuple[list[dict[str, str]], str]:
    """Give plots as HTML, each with its ``title`` and ``note``, and the script that they need."""
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
    return parts, engine.offline.get_plotlyjs() if parts else ""


def template(name: str, package: str = _HOME) -> Template:
    """Load a template of a package; it may include those of the experiments, such as the style.

    Raises
    ------
    ConfigurationError
        Jinja is not installed; the message names the extra that brings it.
    """
    try:
        import jinja2
    except ImportError as error:
        message = "pages need jinja2, which is missing: pip install 'evenkey[experiments]'"
        raise ConfigurationError(message) from error
    packages = dict.fromkeys([package, _HOME])
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each) for each in packages]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)
