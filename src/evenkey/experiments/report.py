"""Pages of results: an HTML page an experiment, with all that it needs inside, and an index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenkey.errors import ConfigurationError
from evenkey.experiments.experiment import order
from evenkey.experiments.figures import plotly

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Template

    from evenkey.experiments.outcome import Outcome

__all__ = ["check_packages", "write_index", "write_page"]


def check_packages() -> None:
    """Raise a ConfigurationError unless the packages that pages are made with are installed."""
    plotly()
    _template("index.html")


def write_page(outcome: Outcome, directory: Path) -> Path:
    """Write an experiment's page, and its figures as JSON beside it.

    Returns
    -------
    Path
        The page.
    """
    engine = plotly()
    name = f"{outcome.experiment.id}-{outcome.scale.name}"
    plots = [
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
        for number, plot in enumerate(outcome.plots)
    ]
    page = directory / f"{name}.html"
    text = _template("page.html").render(
        outcome=outcome, plots=plots, plotly=engine.offline.get_plotlyjs() if plots else ""
    )
    _replace(page, text)
    _replace(directory / f"{name}.json", json.dumps(outcome.to_json(), indent=2) + "\n")
    return page


def write_index(directory: Path) -> Path:
    """Write a page that leads to all experiments' pages in a folder.

    Returns
    -------
    Path
        The page.
    """
    entries: list[dict[str, Any]] = []
    for file in sorted(directory.glob("*-*.json")):
        if file.with_suffix(".html").exists():
            told = json.loads(file.read_text())
            entries.append({**told, "page": file.with_suffix(".html").name})
    entries.sort(key=lambda entry: (order(entry["experiment"]), entry["scale"]))
    index = directory / "index.html"
    _replace(index, _template("index.html").render(entries=entries))
    return index


def _template(name: str) -> Template:
    try:
        import jinja2
    except ImportError as error:
        message = "experiments need jinja2, which is missing: pip install 'evenkey[experiments]'"
        raise ConfigurationError(message) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenkey.experiments"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)


def _replace(file: Path, text: str) -> None:
    unfinished = file.with_name(f".{file.name}.tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(file)
