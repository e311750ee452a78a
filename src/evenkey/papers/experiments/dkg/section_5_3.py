"""DKG, section 5.3: DistCost on twitter-election, by how often the other hashtags occur."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.papers.data_sets import LookAlike
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Measurement,
    Scale,
    Simulation,
)
from evenkey.papers.experiments.dkg.methods import (
    METHODS,
    PAPERS_METHODS,
    SPLITTERS,
    SPOUTS,
    dataset,
)
from evenkey.papers.experiments.dkg.table_3 import PAPER as _PAPER
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.core.streams import MessageBatch, MessageStream
    from evenkey.simulation import SimulationReport

_OFFSETS = (0.0, 5.0, 20.0, 50.0)
_PERIODS = (1, 15, 60)
_REFERENCE = "dkg(variant=reference)"
_THROUGH_TIME = ("kg", "pkg", "dkg", _REFERENCE)
_NAMES = {**dict(zip(METHODS, PAPERS_METHODS, strict=True)), _REFERENCE: "DKG (reference)"}


@dataclass(frozen=True)
class FlatterTail:
    """A look-alike in which the keys after the first have the weights ``(rank + offset) ** -z``.

    The first key keeps its share. Weights of rare keys hardly change with the offset, and with them
    the DistCost of shuffle grouping, from which the exponent z is derived.

    Parameters
    ----------
    like
        The look-alike, which gives z, the number of keys, and the number of messages and their
        times.
    offset
        0: the weights of the look-alike.

    Examples
    --------
    >>> like = LookAlike("twitter-election", messages=1000)
    >>> [round(float(FlatterTail(like, offset).shares[1]), 4) for offset in (0, 20)]
    [0.0864, 0.0091]
    """

    like: LookAlike
    offset: float

    @property
    def name(self) -> str:
        """Spelling of the look-alike."""
        return self.like.name

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The probability of each key, float64[keys]."""
        shares = self.like.probabilities()
        ranks = np.arange(2, len(shares) + 1)
        tail = (ranks + self.offset) ** -self.like.law.exponent
        shares[1:] = (1 - shares[0]) * tail / tail.sum()
        return shares

    def batches(self, size: int = 1 << 16) -> Iterator[MessageBatch]:
        """Yield the whole stream in batches of `size` messages."""
        random = np.random.default_rng([self.like.seed, round(self.offset)])
        ends = np.cumsum(self.shares)
        for batch in self.like.batches(size):
            drawn = np.searchsorted(ends, random.random(len(batch.ids)), side="right")
            ids = np.minimum(drawn, len(ends) - 1)  # the shares may add up to less than 1
            yield replace(batch, ids=ids, keys=self.like.hashes(ids))

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the texts of keys, as users see them."""
        return self.like.texts(ids)


@dataclass(frozen=True)
class TailDataset(Dataset):
    """The stream of a `FlatterTail` of twitter-election.

    Parameters
    ----------
    offset
        As for `FlatterTail`.
    """

    offset: float = field(kw_only=True)

    @contextlib.contextmanager
    def opened(self) -> Iterator[MessageStream]:
        """Open the stream."""
        like = LookAlike("twitter-election", messages=self.messages, seed=self.seed, rate=self.rate)
        yield FlatterTail(like, self.offset)


@dataclass(frozen=True)
class LoadThroughTime(Simulation):
    """A simulation that also measures the maximum load of each epoch, and its mean over all epochs.

    If workers can hold no more than an epoch's messages, the time of a run is proportional to this
    mean, and not to the maximum load of the whole run.
    """

    kind: ClassVar[str] = "load-through-time"

    def measured(self, report: SimulationReport) -> Measurement:
        """Return the figures of a report, and ``epoch_mean``, the mean maximum over mean load."""
        loads = [epoch.max_over_mean for epoch in report.epochs]
        return Measurement(
            {**super().measured(report).figures, "epoch_mean": float(np.mean(loads))}
        )


class BehindTableThree(Experiment):
    id = "dkg-section-5-3"
    title = "What table 3 depends on: other hashtags, and loads through time"
    summary = (
        "Look-alikes of twitter-election, in which one key has 68 % of the messages; 10 workers, 5 "
        "spouts, 10 splitters. The paper does not say how often the other hashtags occur. In the "
        "first table the weight of rank r is (r + offset) to a power. With an offset of 0, as in "
        "the look-alike of the other experiments, the second key is hot too. With a larger offset "
        "the frequent ones of the other hashtags are about equal, and the rare ones as before. The "
        "second table has the maximum load in each period of the stream, in place of that of the "
        "whole stream: “DKG (reference)” is the paper's program, which checks a key once a minute."
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        like = dataset("twitter-election", scale)
        per_second = like.rate or 1.0
        tails = [
            Simulation(
                TailDataset(like.name, like.messages, like.rate, offset=offset),
                method,
                10,
                SPLITTERS,
                SPOUTS,
                hash="murmur3",
            )
            for offset in _OFFSETS
            for method in METHODS
        ]
        return [
            *tails,
            *(
                LoadThroughTime(
                    like,
                    method,
                    10,
                    SPLITTERS,
                    SPOUTS,
                    hash="murmur3",
                    replication=False,
                    epoch_messages=round(per_second * seconds),
                )
                for method in _THROUGH_TIME
                for seconds in _PERIODS
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        like = LookAlike("twitter-election")
        seconds = {each: 100 * float(FlatterTail(like, each).shares[1]) for each in _OFFSETS}
        methods = frame["grouping"].map(_NAMES)
        slower = {
            method: _PAPER["SG"].throughput / row.throughput for method, row in _PAPER.items()
        }
        return frame.assign(
            method=methods,
            second_percent=frame["offset"].map(seconds),
            paper_dist_cost=methods.map({name: row.dist_cost for name, row in _PAPER.items()}),
            paper_slower=methods.map({**slower, "DKG (reference)": slower["DKG"]}),
            period=(frame["epoch_messages"] / frame["rate"]).round(),
        )

    def tables(self, frame: Frame) -> list[Table]:
        method = Column("method", "Method")
        spread = [
            Column("offset", "Offset", ".0f"),
            Column("second_percent", "Second key, %", ".2f"),
            method,
            Column("dist_cost", "DistCost, ours", ".4f"),
            Column("paper_dist_cost", "DistCost, paper", ".4f"),
            Column("stddev_percent", "StdDev of loads, % of their sum", ".3f"),
            Column("max_over_mean", "Maximum load, over the mean", ".3f"),
        ]
        through = [
            method,
            Column("period", "Period, s", ".0f"),
            Column("max_over_mean", "Maximum load of the whole stream, over the mean", ".3f"),
            Column("epoch_mean", "Maximum load of a period, over the mean, in the mean", ".3f"),
            Column("paper_slower", "Time over that of SG, paper", ".2f"),
        ]
        tails, periods = self._parts(frame)
        return [
            Table("DistCost by the share of the second key", spread, tails),
            Table("Maximum load through time", through, periods),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        tails, periods = self._parts(frame)
        return [
            Chart(
                "DistCost by the share of the second key",
                Axis("second_percent", "Second key, % of the messages", "log"),
                Axis("dist_cost", "DistCost, workers a key"),
                "method",
            ).plot(tails),
            Chart(
                "Maximum load of a period",
                Axis("method", "", "category"),
                Axis("load", "Maximum load, over the mean"),
                kind="bars",
                beside={
                    "a second": "epoch_mean",
                    "whole stream": "max_over_mean",
                    "paper, time over that of SG": "paper_slower",
                },
            ).plot(periods[periods["period"] == _PERIODS[0]]),
        ]

    @staticmethod
    def _parts(frame: Frame) -> tuple[Frame, Frame]:
        through = frame["kind"] == LoadThroughTime.kind
        return frame[~through], frame[through]
