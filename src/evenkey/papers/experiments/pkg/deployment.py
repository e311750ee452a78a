"""The PKG paper's deployment (question Q5): its topologies, streams and schemes, on Spark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from evenkey.papers.experiments.experiment_data import Dataset, published
from evenkey.papers.experiments.pipeline import PipelineRun
from evenkey.papers.experiments.pkg.paper_streams import STREAMS
from evenkey.reports.pictures import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from evenkey.papers.experiments.scale import Scale


THROUGHPUT = Axis("messages_per_second", "Throughput, messages/s")

PERIODS = (10, 30, 60)
"""Aggregation periods, in seconds."""

ON_SPARK = (
    "Run by the pipeline on Spark from the generator. On Spark a worker hands its counters over at "
    "the end of each epoch, so an aggregation period is an epoch of so many seconds of the stream; "
    "KG, which needs no aggregation in the paper, hands over as well. DKG and planned grouping are "
    "not the paper's."
)
"""How our deployment differs from the paper's; part of the summaries."""

OURS_NOTE = (
    f"{ON_SPARK} A worker sleeps for the cost of its messages, so that all of them work side by "
    "side on any number of cores."
)
"""`ON_SPARK`, for messages that have a cost."""

SOURCES = 8
_SCHEMES = {"pkg": "PKG", "sg": "SG", "kg": "KG", "dkg": "DKG", "planned": "planned"}
MESSAGES_PER_SECOND = 13_600.0
"""Rate of the paper's sources on WP. The most loaded worker of KG has 18 % of the messages. At this
rate, KG therefore saturates at 0.4 ms per message, the saturation point that the paper states. At
1 ms per message, KG then loses 60 % of the throughput, and 8 balanced workers lose 37 %, as in the
paper."""


class Part(NamedTuple):
    """A Zipf stream that stands for a part of a data set.

    It has the same mean number of messages per key, and the same share of the hottest key, as the
    whole data set.

    Parameters
    ----------
    name
        Spelling of the stream.
    messages
        Number of messages.
    seconds
        Seconds of event time that the stream spans.
    """

    name: str
    messages: int
    seconds: float


class Deployment(NamedTuple):
    """A topology of the paper, and the stream that runs through it.

    Parameters
    ----------
    symbol
        The paper's symbol of the data set. Scale ``full`` runs a look-alike of this data set.
    key_workers
        Number of workers under key grouping.
    split_workers, aggregators
        Number of workers and aggregators under the other schemes. Key grouping has the same number
        of aggregators, because on Spark the partial results of epochs must always be merged.
    quick, medium
        Streams at scale ``quick`` and at scale ``medium``.
    """

    symbol: str
    key_workers: int
    split_workers: int
    aggregators: int
    quick: Part
    medium: Part

    def part(self, scale: Scale) -> Part:
        """Return the stream at a scale below ``full``."""
        return self.quick if scale.shortest else self.medium


WP = Deployment(
    "WP",
    10,
    8,
    2,
    quick=Part("zipf(z=1,keys=21000)", 110_000, 60.0),
    medium=Part("zipf(z=1.02,keys=80000)", 330_000, 180.0),
)
TW = Deployment(
    "TW",
    16,
    8,
    8,
    quick=Part("zipf(z=0.73,keys=6500)", 250_000, 60.0),
    medium=Part("zipf(z=0.77,keys=19400)", 750_000, 180.0),
)


def replayed(deployment: Deployment, scale: Scale) -> Dataset:
    """Return the stream of a topology."""
    if scale.whole:
        name = STREAMS[deployment.symbol]
        return Dataset(name, published(name).messages, MESSAGES_PER_SECOND)
    part = deployment.part(scale)
    return Dataset(part.name, part.messages, part.messages / part.seconds)


def every_scheme(
    deployment: Deployment,
    stream: Dataset,
    scale: Scale,
    *,
    epochs: int,
    cost_ms: float = 0.0,
    arrival_rate: float | None = None,
) -> Iterator[PipelineRun]:
    """Declare a run of each scheme, with the numbers of workers that `deployment` has for it."""
    for grouping in _SCHEMES:
        by_key = grouping == "kg"
        yield PipelineRun(
            stream,
            grouping,
            deployment.key_workers if by_key else deployment.split_workers,
            SOURCES,
            cost_ms=cost_ms,
            epochs=epochs,
            aggregators=deployment.aggregators,
            arrival_rate=arrival_rate,
            repeats=scale.repeats,
        )


def by_period(deployment: Deployment, scale: Scale, cost_ms: float = 0.0) -> Iterator[PipelineRun]:
    """Declare a run of each scheme with every aggregation period; messages come without pauses."""
    stream = replayed(deployment, scale)
    for period in PERIODS:
        # Without the small number, a rounding error could turn a minute into two epochs of 60 s.
        epochs = math.ceil((stream.messages or 0) / ((stream.rate or 1) * period) - 1e-6)
        yield from every_scheme(deployment, stream, scale, epochs=epochs, cost_ms=cost_ms)


def schemes(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the columns ``scheme``, ``counters_per_worker`` and ``period``.

    ``scheme`` is the paper's name of the grouping. ``counters_per_worker`` is the average number of
    counters that a worker holds at the end of an epoch. ``period`` is the aggregation period in
    seconds.
    """
    seconds = frame["messages"] / frame["rate"] / frame["epochs"]
    return frame.assign(
        scheme=frame["grouping"].map(_SCHEMES),
        counters_per_worker=frame["epoch_pairs_mean"] / frame["workers"],
        period=[min(PERIODS, key=lambda period: abs(period - each)) for each in seconds],
    )
