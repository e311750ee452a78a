"""Write the table of all metrics: python -m tools.figures_table docs/figures.md."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.metrics import FIGURES, Balance, JoinFigures, Outcome, Pace, RunMetrics, Standing
from evenkey.pipeline.exporters.prometheus import prometheus_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenkey.core.metrics import Figure, Figures

__all__ = ["main", "page"]

_HEAD = """\
# Metrics

A metric has the same name everywhere: in `--json`, in records of epochs, in histories, InfluxDB and
Kafka. In Prometheus it has the prefix `evenkey_`, times are in seconds, and counters end in
`_total`; the tables have this name below the other. If a metric exists for the run and for each
epoch, `epoch_NAME` is that of the epoch. A report has its median over the epochs, `p50`, and its
maximum, `max`; that of a join has a list over its epochs. A metric that an older version did not
have is null. The [glossary](glossary.md) explains the terms.
"""
_FOOT = """\
`make figures` writes this page from the declarations in `src/evenkey/core/metrics/figures.py`; a
test keeps it current.
"""

_GROUPS: tuple[tuple[str, type[Figures]], ...] = (
    ("Every job", Balance),
    ("Placement of keys, jobs with keys", RunMetrics),
    ("Time", Pace),
    ("Input", Outcome),
    ("Lag and state", Standing),
    ("Joins", JoinFigures),
)
_ON_PAGES = {"card": "number", "chart": "line"}
_COMMANDS = {"summary": "run", "comparison": "compare", "simulation": "simulate"}


def _row(names: list[str]) -> str:
    figures = [FIGURES[name] for name in names]
    cells = (
        "<br>".join(f"`{name}`" for name in (*names, *map(prometheus_name, figures))),
        figures[0].text,
        figures[0].unit if not figures[0].by_worker else f"{figures[0].unit}, a list by worker",
        _shown({place for each in figures for place in each.shown}),
    )
    return f"| {' | '.join(cells)} |"


def _shown(places: Collection[str]) -> str:
    drawn = [said for place, said in _ON_PAGES.items() if place in places]
    commands = [f"`evenkey {said}`" for place, said in _COMMANDS.items() if place in places]
    return ", ".join([f"page and Grafana ({', '.join(drawn)})"][: len(drawn)] + commands)


def _names(figure: Figure) -> list[str]:
    twin = f"epoch_{figure.name}"
    return [figure.name, *([twin] if twin in FIGURES else [])]


def page() -> str:
    """Return the page, with a table for each group of metrics."""
    lines, done = [_HEAD], set[str]()
    for title, group in _GROUPS:
        lines += [f"## {title}", "", "| name | what it is | unit | shown in |"]
        lines.append("|---|---|---|---|")
        for figure in group.declared():
            names = _names(figure)
            if figure.name not in done:
                lines.append(_row(names))
            done.update(names)
        lines.append("")
    return "\n".join([*lines, _FOOT])


def main(file: Path) -> None:
    """Write the page."""
    file.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
