"""PKG, table 2: how much key splitting helps (question Q1)."""

from __future__ import annotations

from evenkey.papers.experiments import Experiment, Frame, Scale, Simulation
from evenkey.papers.experiments.pkg.paper_streams import dataset
from evenkey.papers.experiments.pkg.techniques import (
    BY_WORKERS,
    PKG,
    WORKERS,
    named,
    pkg,
)
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Table

_METHODS = {
    PKG: "PKG",
    "off-greedy": "Off-Greedy",
    "on-greedy": "On-Greedy",
    "potc": "PoTC",
    "kg": "Hashing",
}

_PAPER = {
    ("WP", "PKG"): (3.7e-8, 1.3e-7, 2.7e-2, 3.7e-2),
    ("WP", "Off-Greedy"): (3.7e-8, 4.1e-8, 7.4e-2, 8.3e-2),
    ("WP", "On-Greedy"): (3.6e-7, 6.4e-3, 7.4e-2, 8.3e-2),
    ("WP", "PoTC"): (7.3e-7, 7.8e-3, 7.4e-2, 8.3e-2),
    ("WP", "Hashing"): (6.4e-2, 7.8e-2, 9.2e-2, 9.2e-2),
    ("TW", "PKG"): (3.4e-10, 1.4e-9, 2.3e-9, 3.4e-3),
    ("TW", "Off-Greedy"): (3.4e-10, 6e-10, 6.7e-3, 1.7e-2),
    ("TW", "On-Greedy"): (7.2e-9, 7.9e-8, 1.0e-2, 1.7e-2),
    ("TW", "PoTC"): (1.9e-5, 4.3e-6, 1.2e-2, 1.7e-2),
    ("TW", "Hashing"): (3.5e-2, 3.2e-2, 2.0e-2, 2.8e-2),
}


class KeySplitting(Experiment):
    id = "pkg-table-2"
    title = "Key splitting against methods that keep a key on one worker"
    summary = (
        "Imbalance is the maximum load less the mean load. All methods see the true loads; "
        "Off-Greedy knows all frequencies in advance. Streams are synthetic look-alikes of WP and "
        "TW. The paper speaks of average imbalance, but its figures are those at the end of "
        "the stream: its Off-Greedy on WP, 3.7e-8 and 4.1e-8, is 0.8 and 0.9 messages, the least "
        "that 5 and 10 workers can have if the number of messages is one above a multiple of "
        "theirs, and only the whole stream can be that balanced. So the "
        "page compares the end with the paper, and has a separate table of the average over all "
        "messages. If a method is balanced to a few messages, its fraction decreases as the stream "
        "gets longer: at scale quick it cannot be as small as the paper's."
    )

    charts = (
        Chart(
            "Imbalance at the end, ours and the paper's",
            BY_WORKERS,
            Axis("imbalance", "Imbalance at the end, fraction", "log"),
            "method",
            panels=Grid("symbol", "{} look-alike"),
            dash="whose",
            beside={"ours": "imbalance_fraction", "paper": "paper"},
            note="An imbalance of 0, to which loads can come at the end, has no place on the axis.",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        return [
            pkg(dataset(symbol, scale, quick=2), workers, estimation="global", grouping=method)
            for symbol in ("WP", "TW")
            for method in _METHODS
            for workers in WORKERS
        ]

    def labelled(self, frame: Frame) -> Frame:
        symbols, methods = named(frame)["symbol"], frame["grouping"].map(_METHODS)
        paper = [
            _PAPER[symbol, method][WORKERS.index(workers)]
            for symbol, method, workers in zip(symbols, methods, frame["workers"], strict=True)
        ]
        return frame.assign(symbol=symbols, method=methods, paper=paper)

    def tables(self, frame: Frame) -> list[Table]:
        end = {"imbalance_fraction": "ours", "paper": "paper"}
        average = {"average_imbalance_fraction": "ours"}
        return [
            _table("Imbalance at the end, I(m), as a fraction of the m messages", frame, end),
            _table("Average over all messages t of I(t), as a fraction of m", frame, average),
        ]


def _table(title: str, frame: Frame, figures: dict[str, str]) -> Table:
    """Make a table with one row per method, and one column per figure and number of workers."""
    rows = frame.drop_duplicates(["symbol", "method"])[["symbol", "method"]]
    columns = [Column("symbol", "Data set"), Column("method", "Method")]
    for workers in WORKERS:
        part = frame[frame["workers"] == workers].set_index(["symbol", "method"])
        for figure, whose in figures.items():
            column = Column(f"{whose}_{workers}", f"W = {workers}, {whose}", ".1e")
            rows = rows.join(part[figure].rename(column.name), on=["symbol", "method"])
            columns.append(column)
    return Table(title, columns, rows)
