"""What the DKG paper compares, and on which data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkey.experiments.dataset import Dataset, published
from evenkey.experiments.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.simulation import HashName

__all__ = ["PUBLISHED", "Published", "dataset", "every_method", "named", "placed"]

_METHODS = ("sg", "kg", "pkg", "dkg")
_NAMES = {**{method: method.upper() for method in _METHODS}, "planned": "planned"}
_HASH: HashName = "murmur3"


_REAL = (
    "twitter-election",
    "twitter-ticker",
    "wikipedia-clickstream",
    "wikipedia-pageviews",
    "wikipedia-pageviews-by-lang",
)
_COUNTRY_MESSAGES = 10_000_000
_HALF = "country-half-skew-r80"


class Published(NamedTuple):
    """A row of the paper's table 2, and the stream that stands for it."""

    stream: str
    messages: int
    skewness_percent: float


def _published() -> Iterator[tuple[str, Published]]:
    for name in _REAL:
        paper = published(f"{name}-like")
        yield name, Published(f"{name}-like", paper.messages, paper.top_percent)
    for percent in range(0, 101, 10):
        name = f"country-skew-r{percent}"
        yield name, Published(name, _COUNTRY_MESSAGES, percent)
    yield _HALF, Published(_HALF, _COUNTRY_MESSAGES, 40)


PUBLISHED = dict(_published())


def dataset(name: str, scale: Scale, *, quick: float = 1) -> Dataset:
    """Stand in for a data set of the paper; it spans 400 s, however long it is.

    `quick` is as for `Scale.messages`.
    """
    row = PUBLISHED[name]
    return Dataset(row.stream, scale.messages(row.messages, quick=quick))


def every_method(stream: Dataset, workers: int = 10, sources: int = 5) -> Iterator[Simulation]:
    """Simulate each of the paper's methods, with the reference code's hash."""
    for method in _METHODS:
        yield Simulation(stream, method, workers, sources, hash=_HASH)


def placed(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the paper's name of the data set, ``data``, and its ``skewness`` in percent."""
    names = {row.stream: name for name, row in PUBLISHED.items()}
    skewness = {row.stream: row.skewness_percent for row in PUBLISHED.values()}
    streams = frame["dataset"]
    return frame.assign(data=streams.map(names), skewness=streams.map(skewness))


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the paper's names of data set and ``method``, and the bound on throughput.

    Where the workers are the bottleneck, all wait for the fullest: ``throughput_percent`` is the
    mean load over the largest.
    """
    return placed(frame).assign(
        method=frame["grouping"].map(_NAMES), throughput_percent=100 / frame["max_over_mean"]
    )
