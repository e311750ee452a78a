"""Plots of stored results: data frames are read back from the cells of tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from evenkey.papers.claims import Shown
from evenkey.reports.pictures import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkey.papers.experiments import Experiment
    from evenkey.reports.pictures import Plot
    from tools.reproduction.records import Record

    Read = Callable[[Record], pd.DataFrame]

__all__ = ["KINDS", "files", "plots", "standalone"]

KINDS = {"laptop": 960, "phone": 350}
"""Widths of the two pictures of each plot, in CSS pixels."""

_IN_HEADING = re.compile(r"\w+ = ([\d,.]+)")
_VALUE = "average_imbalance_fraction"
_SERIES = {
    *("dkg-section-4", "dkg-section-4-6", "joins-figure-6", "joins-figure-7"),
    *("joins-section-4-6", "pkg-figure-5"),
}
"""Experiments whose plots show series, which no table has; their pictures are those of the run."""


def plots(record: Record) -> Sequence[Plot]:
    """Make the plots of a stored result; none if they show what the tables do not have."""
    if record.id in _SERIES or not record.given["plots"]:
        return []
    frame = _READ.get(record.id, _default)(record)
    experiment = record.experiment
    if record.id in _BY_CHARTS:
        return [chart.plot(frame) for chart in experiment.charts]
    return experiment.plots(frame)


def files(record: Record) -> dict[str, str]:
    """Draw the plots of a stored result: SVG documents, by the names of their files."""
    return {
        f"{record.id}-{number}-{kind}.svg": standalone(plot.draw(width, f"{record.id}-{number}"))
        for number, plot in enumerate(plots(record), 1)
        for kind, width in KINDS.items()
    }


def standalone(element: str) -> str:
    """Return an SVG element of a page as a document, in the colours of the light theme.

    Examples
    --------
    >>> drawn = standalone('<svg width="9"><path fill="var(--run0)" /></svg>')
    >>> THEMES["light"].runs[0] in drawn
    True
    """
    light = THEMES["light"].variables()
    text = re.sub(r"var\((--\w+)\)", lambda found: light.get(found[1], "inherit"), element)
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    text = re.sub(r"[ \t]+\n", "\n", text)
    return text.replace("<svg ", f"<svg {names} ", 1).strip() + "\n"


def _value(cell: str) -> Any:
    """Read a cell: a number without its range or runs, a text, or NaN if there is no value."""
    if cell == "-":
        return float("nan")
    shown = Shown.read(cell)
    if shown is None:
        return cell
    whole = re.fullmatch(r"[\d,]+", cell.partition(" (")[0])
    return int(shown.value) if whole else shown.value


def _frame(table: Mapping[str, Any], names: Sequence[str]) -> pd.DataFrame:
    """Read a table; `names` are those of its columns in the experiment's data frame."""
    rows = [[_value(cell) for cell in row] for row in table["cells"]]
    return pd.DataFrame(rows, columns=list(names))


def _default(record: Record) -> pd.DataFrame:
    """Read all tables, whose columns have the titles that the experiment declares."""
    frame: pd.DataFrame | None = None
    for table, now in zip(record.given["tables"], _declared(record.experiment), strict=True):
        left = list(now)
        names = []
        for title in table["columns"]:
            place = next((at for at, each in enumerate(left) if each[1] == title), None)
            names.append(title if place is None else left.pop(place)[0])
        part = _frame(table, names)
        frame = part if frame is None else frame.merge(part)
    assert frame is not None  # noqa: S101 - every outcome has a table
    return frame


def _declared(experiment: Experiment) -> list[list[tuple[str, str]]]:
    tables = experiment.tables(pd.DataFrame())
    return [[(column.name, column.title) for column in table.columns] for table in tables]


def _named(place: int, *names: str, **values: object) -> Read:
    """Return a reader of the table at a place, by the names of its columns."""
    return lambda record: _frame(record.given["tables"][place], names).assign(**values)


def _crossed(place: int, rows: Sequence[str], across: str, figure: str = _VALUE) -> Read:
    """Return a reader of a table whose headings are the values of a column."""

    def read(record: Record) -> pd.DataFrame:
        table = record.given["tables"][place]
        found = [_IN_HEADING.match(title) for title in table["columns"][len(rows) :]]
        headings = [
            each if match is None else _value(match[1])
            for each, match in zip(table["columns"][len(rows) :], found, strict=True)
        ]
        frame = _frame(table, [*rows, *headings])
        long = frame.melt(list(rows), headings, across, figure)
        # The rows in the order of the table, as in the experiment's own frame.
        order = [index for row in range(len(frame)) for index in range(row, len(long), len(frame))]
        return long.iloc[order].reset_index(drop=True)

    return read


def _of_periods(record: Record) -> pd.DataFrame:
    rate = record.experiment.scenarios(_scale(record))[0].parameters["arrival_rate"]
    return _default(record).assign(arrival_rate=rate)


def _scale(record: Record) -> Any:
    from evenkey.papers.experiments import scale_named

    return scale_named(record.given["scale"])


def _behind_table_three(record: Record) -> pd.DataFrame:
    tails = _named(
        0,
        *("offset", "second_percent", "method", "dist_cost", "paper_dist_cost", "stddev_percent"),
        "max_over_mean",
        kind="simulation",
    )
    periods = _named(
        1,
        *("method", "period", "max_over_mean", "epoch_mean", "paper_slower"),
        kind="load-through-time",
    )
    return pd.concat([tails(record), periods(record)], ignore_index=True)


def _draws(record: Record) -> pd.DataFrame:
    names = ("data", "method", "workers", "draws", "unbalanced", "imbalance")
    frame = _named(0, *names, kind="hash-draws")(record)
    return frame.assign(setting=frame["data"] + ", W = " + frame["workers"].astype(str))


def _key_splitting(record: Record) -> pd.DataFrame:
    table = record.given["tables"][0]
    frame = _frame(table, table["columns"])
    parts = [
        pd.DataFrame(
            {
                "symbol": frame["Data set"],
                "method": frame["Method"],
                "workers": workers,
                "imbalance_fraction": frame[f"W = {workers}, ours"],
                "paper": frame[f"W = {workers}, paper"],
            }
        )
        for workers in (5, 10, 50, 100)
    ]
    return pd.concat(parts, ignore_index=True)


def _latencies(record: Record) -> pd.DataFrame:
    names = ("setting", "scheme", "seconds", "relative", "paper", "paper_relative")
    from tools.reproduction.shown_cells import arranged

    parts = [
        _frame(shaped, names)
        for table in record.given["tables"]
        for shaped in arranged(record.id, table)
    ]
    return pd.concat(parts, ignore_index=True)


_READ: Mapping[str, Read] = {
    "dkg-section-4-4": _named(
        1,
        "method",
        "equal_percent",
        "single_percent",
        "bound",
        "bound_one",
        "bound_two",
        kind="each-key-hot",
    ),
    "dkg-section-5-3": _behind_table_three,
    "joins-section-3-1": _named(0, "name", "step", "us", "percent"),
    "joins-section-3-3": _named(3, "planner", "moves", "load"),
    "joins-section-5": _named(0, "skew", "what", "mb", "seconds"),
    "pkg-figure-10-a": _of_periods,
    "pkg-figure-3": _crossed(0, ["week"], "key", "messages"),
    "pkg-figure-4": _crossed(0, ["symbol", "workers"], "technique"),
    "pkg-figure-6": _crossed(0, ["z"], "sources", "percent"),
    "pkg-figure-7": _crossed(0, ["keys_declared", "z", "p1"], "workers"),
    "pkg-figure-8": _crossed(0, ["graph", "sources", "workers"], "split"),
    "pkg-figure-9": _crossed(1, ["choices"], "workers"),
    "pkg-section-3": _named(2, "method", "workers", "pairs", "dist_cost"),
    "pkg-section-4": _named(0, "title", "method", "workers", "state"),
    "pkg-section-4-1": _named(0, "method", "workers", "step", "ms", "percent"),
    "pkg-section-5": _named(
        2, "choices", "workers", "relative", "least_relative", "most_relative", "over_theorem"
    ),
    "pkg-section-6": _crossed(4, ["sources", "workers", "split"], "symbol"),
    "pkg-section-6-1": _draws,
    "pkg-table-2": _key_splitting,
    "pkg-table-3": _latencies,
}
"""Readers of the results of experiments whose tables are not as declared."""

_BY_CHARTS = {
    *("dkg-section-4-4", "joins-section-3-3", "pkg-figure-6", "pkg-section-3", "pkg-section-4"),
    *("joins-section-3-1", "joins-section-5", "pkg-section-4-1", "pkg-section-5", "pkg-section-6"),
}
"""Experiments that choose the rows of their charts: the tables have just these."""
