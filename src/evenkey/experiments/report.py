"""Pages of results: an HTML page an experiment, with all that it needs inside, and an index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenkey.experiments.experiment import order
from evenkey.experiments.pages import drawn, template
from evenkey.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.experiments.outcome import Outcome

__all__ = ["write_index", "write_page"]


def write_page(outcome: Outcome, directory: Path) -> Path:
    """Write an experiment's page, and its figures as JSON beside it.

    Returns
    -------
    Path
        The page.
    """
    source = "-kafka" if outcome.kafka else ""
    name = f"{outcome.experiment.id}-{outcome.scale.name}{source}"
    plots, script = drawn(outcome.plots)
    page = directory / f"{name}.html"
    text = template("page.html").render(outcome=outcome, plots=plots, plotly=script)
    write_whole(page, text.encode())
    figures = json.dumps(outcome.to_json(), indent=2)
    write_whole(directory / f"{name}.json", f"{figures}\n".encode())
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
    write_whole(index, template("index.html").render(entries=entries).encode())
    return index
