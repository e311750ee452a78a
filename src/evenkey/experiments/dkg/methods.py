"""What the DKG paper compares, and on which data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkey.experiments.dataset import Dataset
from evenkey.experiments.figures import Axis
from evenkey.experiments.simulation import Simulation
from evenkey.experiments.table import Column

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from evenkey.experiments.scale import Scale

__all__ = [
    "FIGURES",
    "MODEL_NOTE",
    "PUBLISHED",
    "Published",
    "dataset",
    "every_method",
    "figure_axis",
    "figure_columns",
    "named",
]

_METHODS = {"sg": "SG", "kg": "KG", "pkg": "PKG", "dkg": "DKG"}
_HASH = "murmur3"


class Published(NamedTuple):
    """A row of the paper's table 2, and the stream that stands for it."""

    stream: str
    messages: int
    skewness_percent: int


_MILLION = 1_000_000

PUBLISHED = {
    "twitter-election": Published("twitter-election-like", 5 * _MILLION, 68),
    "twitter-ticker": Published("twitter-ticker-like", 1_500_000, 10),
    "wikipedia-clickstream": Published("wikipedia-clickstream-like", 8_000 * _MILLION, 10),
    "wikipedia-pageviews": Published("wikipedia-pageviews-like", 22 * _MILLION, 9),
    "wikipedia-pageviews-by-lang": Published(
        "wikipedia-pageviews-by-lang-like", 588 * _MILLION, 27
    ),
    **{
        f"country-skew-r{percent}": Published(f"country-skew-r{percent}", 10 * _MILLION, percent)
        for percent in range(0, 101, 10)
    },
    "country-half-skew-r80": Published("country-half-skew-r80", 10 * _MILLION, 40),
}

FIGURES = {
    "stddev_percent": "StdDev of the workers' loads, % of all messages",
    "dist_cost": "DistCost, workers a key lies on",
    "max_over_mean": "Load of the fullest worker, of the mean load",
    "throughput_percent": "Throughput bound, % of even loads",
}

MODEL_NOTE = (
    "Latency and throughput are the paper's measurements on a cluster; the simulator has no such "
    "clock. Where the workers are the bottleneck the time is in proportion to the load of the "
    "fullest worker, and the throughput to its inverse: these stand in for them."
)


def dataset(name: str, scale: Scale) -> Dataset:
    """Stand in for a data set of the paper; it spans 400 s, however long it is."""
    published = PUBLISHED[name]
    return Dataset(published.stream, scale.messages(published.messages))


def every_method(stream: Dataset, workers: int = 10, sources: int = 5) -> Iterator[Simulation]:
    """Simulate each of the paper's methods, with the reference code's hash."""
    for method in _METHODS:
        yield Simulation(stream, method, workers, sources, hash=_HASH)


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the paper's names of data set and method, and what is derived from loads."""
    names = {published.stream: name for name, published in PUBLISHED.items()}
    return frame.assign(
        method=frame["grouping"].map(_METHODS),
        data=frame["dataset"].map(names),
        skewness=frame["dataset"].map(
            {published.stream: published.skewness_percent for published in PUBLISHED.values()}
        ),
        throughput_percent=100 / frame["max_over_mean"],
    )


def figure_axis(figure: str) -> Axis:
    """Make the axis of a figure of `FIGURES`."""
    return Axis(figure, FIGURES[figure])


def figure_columns() -> list[Column]:
    """Make the columns of all `FIGURES`."""
    forms = dict.fromkeys(FIGURES, ".3f") | {"throughput_percent": ".1f"}
    return [Column(figure, title, forms[figure]) for figure, title in FIGURES.items()]
