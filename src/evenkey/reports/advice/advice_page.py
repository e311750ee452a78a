"""Write an advice as a self-contained page with plots."""

from __future__ import annotations

import dataclasses
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evenkey.reports.advice.measure import zipf_shares
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table
from evenkey.reports.pictures import check_page as check_written
from evenkey.reports.pictures import write_page as write

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.reports.advice.advising import Advice
    from evenkey.reports.advice.measure import Skew

_TEMPLATE = resources.files(__package__) / "templates" / "advice.html"

_POINTS = 200
"""Number of ranks that the chart of skew draws, at equal distances on the logarithmic axis."""

_SKEW = Chart(
    "How skewed the keys are",
    Axis("rank", "Rank of the key, hottest first", "log"),
    Axis("share", "Share of all messages, %", "log"),
    "what",
    "Keys",
    note="A straight line is Zipf's law; the flatter, the less skew.",
)
_WORKERS = Axis("workers", "Workers", "category")
_PREDICTED = [
    Chart(
        "Balance",
        _WORKERS,
        Axis("max_over_mean", "Maximum load over the mean", "log"),
        "grouping",
        note="1 is balanced; 2 means that the most loaded worker has twice the mean load.",
    ),
    Chart(
        "Throughput",
        _WORKERS,
        Axis("relative_throughput", "Throughput (sg = 1)"),
        "grouping",
        note="The most loaded worker limits the throughput, if the work after the shuffle is per "
        "message and each message costs the same. Merging partial results is not included.",
    ),
    Chart(
        "Replication",
        _WORKERS,
        Axis("dist_cost", "Workers that hold a key, on average"),
        "grouping",
        note="1 is the least: every key is on one worker. If a key is on several workers, their "
        "partial results must be merged.",
    ),
]


def check_page(file: Path) -> None:
    """Check that the page can be drawn and written, before anything is measured.

    Raises
    ------
    ConfigurationError
        A package is not installed, the file is a directory, or its directory does not exist.
    """
    check_written("html", file)


def write_page(advice: Advice, file: Path) -> Path:
    """Write the page, and return its path."""
    tables = _tables(advice)
    return write(file, _TEMPLATE, _plots(advice), advice=advice, tables=tables)


def _plots(advice: Advice) -> list[Plot]:
    predictions = pd.DataFrame([dataclasses.asdict(each) for each in advice.predictions])
    # The lines of balanced groupings overlap. The recommended grouping is drawn last, on top.
    drawn_last = predictions["grouping"] == advice.recommendation.grouping
    predictions = pd.concat([predictions[~drawn_last], predictions[drawn_last]])
    return [_SKEW.plot(_ranks(advice.skew)), *(each.plot(predictions) for each in _PREDICTED)]


def _ranks(skew: Skew) -> pd.DataFrame:
    ranks = np.unique(np.geomspace(1, skew.keys, min(_POINTS, skew.keys)).round().astype(int))
    shares = {"measured": skew.counts / skew.messages}
    if skew.zipf is not None:
        law = f"Zipf's law, z = {skew.zipf.exponent:.2f}"
        shares[law] = zipf_shares(skew.keys, skew.zipf.exponent)
    return pd.concat(
        [
            pd.DataFrame({"rank": ranks, "share": 100 * each[ranks - 1], "what": what})
            for what, each in shares.items()
        ]
    )


def _tables(advice: Advice) -> list[Table]:
    keys = pd.DataFrame([{**each._asdict(), "share": 100 * each.share} for each in advice.skew.top])
    predictions = pd.DataFrame([dataclasses.asdict(each) for each in advice.predictions])
    return [
        Table(
            "Hottest keys",
            (
                Column("key", "key"),
                Column("messages", "messages", ",d"),
                Column("share", "share of all messages, %", ".2f"),
            ),
            keys,
        ),
        Table(
            "Predictions",
            (
                Column("workers", "workers", ",d"),
                Column("grouping", "grouping"),
                Column("max_over_mean", "max/mean", ".3f"),
                Column("dist_cost", "DistCost", ".2f"),
                Column("dist_cost_lower_bound", "DistCost, lower bound", ".2f"),
                Column("relative_throughput", "throughput, sg = 1", ".3f"),
                Column("max_load", "maximum load, messages", ",d"),
                Column("cardinality_imbalance", "most keys per worker, less the mean", ",.0f"),
            ),
            predictions,
            "Simulated on the sample, with local load estimation. The plan of planned is made from "
            "the sample: a batch is counted before it is routed. In a stream, this is so from the "
            "second epoch on.",
        ),
    ]
