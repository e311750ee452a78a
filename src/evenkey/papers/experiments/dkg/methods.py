"""The methods that the DKG paper compares, and its data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.streams import generated
from evenkey.papers.experiments import Dataset, published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.groupings import By
    from evenkey.papers.experiments import Frame, Scale

METHODS = ("sg", "kg", "pkg", "dkg")
PAPERS_METHODS = [method.upper() for method in METHODS]
"""The paper's names of its methods."""

_NAMES = {**dict(zip(METHODS, PAPERS_METHODS, strict=True)), "planned": "planned"}

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
    """A row of the paper's table 2, and the stream that replaces its data set."""

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

WEIGHED = {f"{name}-like" for name in ("wikipedia-clickstream", "wikipedia-pageviews-by-lang")}
"""Streams whose records have weights. As in the reference code, routers count a record as one
message, and the observer counts its weight."""


def observed_by(stream: Dataset) -> By:
    """Return what the observer counts for a stream: ``messages`` or ``weights``."""
    return "weights" if stream.name in WEIGHED else "messages"


def dataset(name: str, scale: Scale, *, quick: float = 1) -> Dataset:
    """Return the stream that replaces a data set of the paper; at any length it spans 400 s.

    `quick` is as for `Scale.messages`.
    """
    stream = PUBLISHED[name].stream
    # The published number of messages, or the number of records with that total weight.
    return Dataset(stream, scale.messages(generated(stream).length, quick=quick))


def placed(frame: Frame) -> Frame:
    """Add columns: the paper's name of the data set, ``data``, and its ``skewness`` in percent."""
    names = {row.stream: name for name, row in PUBLISHED.items()}
    skewness = {row.stream: row.skewness_percent for row in PUBLISHED.values()}
    streams = frame["dataset"]
    return frame.assign(data=streams.map(names), skewness=streams.map(skewness))


def named(frame: Frame) -> Frame:
    """Add the paper's names of data set and ``method``, and the bound on throughput.

    If the workers are the bottleneck, all wait for the worker with most messages, whatever these
    weigh: ``throughput_percent`` is the mean number of messages per worker, in percent of the
    largest.
    """
    max_load = frame["max_over_mean"]
    if "messages_max_over_mean" in frame:
        max_load = frame["messages_max_over_mean"].fillna(max_load)
    return placed(frame).assign(
        method=frame["grouping"].map(_NAMES), throughput_percent=100 / max_load
    )
