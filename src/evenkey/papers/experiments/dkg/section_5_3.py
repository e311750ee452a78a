"""DKG, section 5.3: DistCost on twitter-election, by how often the other hashtags occur."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenkey.papers.data_sets import LookAlike
from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, Simulation
from evenkey.papers.experiments.dkg.methods import METHODS, SPLITTERS, SPOUTS, dataset, named
from evenkey.reports.pictures import Axis, Chart, Column

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.core.streams import MessageBatch, MessageStream

_OFFSETS = (0.0, 5.0, 20.0, 50.0)
_PAPER = {"SG": 2.4491, "KG": 1.0, "PKG": 1.1647, "DKG": 1.2414}


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
    [0.0863, 0.0092]
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
        given = {"messages": self.messages, "seed": self.seed, "rate": self.rate}
        yield FlatterTail(LookAlike("twitter-election", **given), self.offset)


class OtherHashtags(Experiment):
    id = "dkg-section-5-3"
    title = "DistCost by how often the other hashtags occur"
    summary = (
        "Look-alikes of twitter-election, in which one key has 68 % of the messages; 10 workers, 5 "
        "spouts, 10 splitters. The paper does not say how often the other hashtags occur. The "
        "weight of rank r is (r + offset) to a power. With an offset of 0, as in the look-alike of "
        "the other experiments, the second key is hot too. With a larger offset the frequent ones "
        "of the other hashtags are about equal, and the rare ones as before."
    )

    table = "DistCost by the share of the second key"
    columns = (
        Column("offset", "Offset", ".0f"),
        Column("second_percent", "Second key, %", ".2f"),
        Column("method", "Method"),
        Column("dist_cost", "DistCost, ours", ".4f"),
        Column("paper", "DistCost, paper", ".4f"),
        Column("stddev_percent", "StdDev of loads, % of their sum", ".3f"),
        Column("max_over_mean", "Maximum load, over the mean", ".3f"),
    )
    note = ""
    charts = (
        Chart(
            "DistCost by the share of the second key",
            Axis("second_percent", "Second key, % of the messages", "log"),
            Axis("dist_cost", "DistCost, workers a key"),
            "method",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        like = dataset("twitter-election", scale)
        return [
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

    def labelled(self, frame: Frame) -> Frame:
        like = LookAlike("twitter-election")
        seconds = {each: 100 * float(FlatterTail(like, each).shares[1]) for each in _OFFSETS}
        rows = named(frame)
        return rows.assign(
            second_percent=rows["offset"].map(seconds), paper=rows["method"].map(_PAPER)
        )
