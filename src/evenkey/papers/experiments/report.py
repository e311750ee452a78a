"""Write pages of results: one self-contained HTML page per experiment, and an index."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from evenkey.core.whole_files import write_whole
from evenkey.papers.experiments.base import order
from evenkey.reports import pictures

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.papers.experiments.outcome import Outcome

_TEMPLATES = resources.files(__package__) / "templates"


def write_page(outcome: Outcome, directory: Path) -> Path:
    """Write the page of an experiment, and a JSON file with its figures in the same folder.

    Returns
    -------
    Path
        Path of the page.
    """
    source = "-kafka" if outcome.kafka else ""
    name = f"{outcome.experiment.id}-{outcome.scale.name}{source}"
    page = directory / f"{name}.html"
    pictures.write_page(page, _TEMPLATES / "page.html", outcome.plots, outcome=outcome)
    figures = json.dumps(outcome.to_json(), indent=2)
    write_whole(directory / f"{name}.json", f"{figures}\n".encode())
    return page


def write_index(directory: Path) -> Path:
    """Write a page that links to the pages of all experiments in a folder.

    Returns
    -------
    Path
        Path of the page.
    """
    entries: list[dict[str, Any]] = []
    for file in sorted(directory.glob("*-*.json")):
        if file.with_suffix(".html").exists():
            entry = json.loads(file.read_text())
            entries.append({**entry, "page": file.with_suffix(".html").name})
    entries.sort(key=lambda entry: (order(entry["experiment"]), entry["scale"]))
    index = directory / "index.html"
    return pictures.write_page(index, _TEMPLATES / "index.html", entries=entries)
