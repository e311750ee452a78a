"""The methods that the DKG paper compares, and its data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.streams import generated
from evenkey.papers.experiments import Dataset, published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.groupings import By
    from evenkey.papers.experiments import Frame, Scale

SPOUTS, SPLITTERS, AGGREGATORS = 5, 10, 10
"""The paper's number of spouts in most experiments, and the numbers of splitters and aggregators in
its program, which are the same whatever the number of spouts. Splitters route."""

METHODS = ("sg", "kg", "pkg", "dkg")
PAPERS_METHODS = [method.upper() for method in METHODS]
"""The paper's names of the methods."""

NO_KEY_SPACE = (
    "dkg(expected_keys=1000,old_share=0.3,teenage_share=0.3,baby_share=0.4,"
    "teenage_period=1,old_period=1)"
)
"""DKG whose old space can hold all 204 countries, and takes them in after a second."""

_NAMES = {**dict(zip(METHODS, PAPERS_METHODS, strict=True)), "planned": "planned"}

_REAL = (
    "twitter-election",
    "twitter-ticker",
    "wikipedia-clickstream",
    "wikipedia-pageviews",
    "wikipedia-pageviews-by-lang",
)
_COUNTRY_MESSAGES = 10_000_000
_COST_MS, _COST_MS_OF_WIKIPEDIA = 1.0, 0.1
_SECONDS_PER_MESSAGE = 1175 / 5_000_000
"""Time per message at a cost of 1 ms: in table 3 DKG takes 1,175 s for twitter-election."""
_HALF = "country-half-skew-r80"


class Published(NamedTuple):
    """A row of the paper's table 2, and the stream that replaces the data set of the row."""

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


def cost_ms(name: str) -> float:
    """Return the cost per message of a data set in ms.

    The scripts of the paper's program run the data sets of Wikipedia with a speed of x10: one sleep
    of 1 ms for ten messages.
    """
    return _COST_MS_OF_WIKIPEDIA if name.startswith("wikipedia") else _COST_MS


def dataset(name: str, scale: Scale, *, quick: float = 1) -> Dataset:
    """Return the stream that replaces a data set of the paper.

    The stream spans as much time at every scale: the time that the paper's DKG takes for
    twitter-election, in proportion to the published number of messages and to the cost. `quick` is
    passed to `Scale.messages`.
    """
    stream = PUBLISHED[name].stream
    # The published number of messages; for records, the number of records of the look-alike.
    published = generated(stream).length
    messages = scale.messages(published, quick=quick)
    return Dataset(stream, messages, messages / (published * cost_ms(name) * _SECONDS_PER_MESSAGE))


def placed(frame: Frame) -> Frame:
    """Add two columns: ``data``, the paper's name of the data set, and ``skewness``, in percent."""
    names = {row.stream: name for name, row in PUBLISHED.items()}
    skewness = {row.stream: row.skewness_percent for row in PUBLISHED.values()}
    streams = frame["dataset"]
    return frame.assign(data=streams.map(names), skewness=streams.map(skewness))


def named(frame: Frame) -> Frame:
    """Add the paper's names of data set and ``method``, and the bound on throughput.

    If the workers are the bottleneck, all workers wait for the worker with the most messages;
    the weights of messages do not matter. So the bound, ``throughput_percent``, is the mean number
    of messages per worker in percent of the maximum number.
    """
    max_load = frame["max_over_mean"]
    if "messages_max_over_mean" in frame:
        max_load = frame["messages_max_over_mean"].fillna(max_load)
    return placed(frame).assign(
        method=frame["grouping"].map(_NAMES), throughput_percent=100 / max_load
    )
