"""Scenarios that count the keys of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.papers.experiments.scenario import Measurement, Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.core.streams import MessageStream
    from evenkey.papers.experiments.scenario import OnMessages


@dataclass(frozen=True)
class KeyShare(Scenario):
    """Measures the total weight of a stream, its number of keys, and the hottest key's share.

    The share is a share of the total weight. If each message weighs 1, this is the share of the
    messages.
    """

    kind: ClassVar[str] = "key-share"

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Add up the weight of each key's messages."""
        counts = np.zeros(0, dtype=np.int64)
        done = 0
        with self.dataset.opened() as stream:
            for batch in stream.batches():
                counts = _added(counts, batch.ids, batch.counts)
                done += len(batch.ids)
                if on_messages is not None:
                    on_messages(done)
        keys = int(np.count_nonzero(counts))
        weight = int(counts.sum())
        share = 100 * int(counts.max()) / weight
        figures = {"messages": done, "weight": weight, "keys": keys, "top_share_percent": share}
        return Measurement(dict(figures))


@dataclass(frozen=True)
class TopKeys(Scenario):
    """Counts how often the most frequent keys of the whole stream occur in each period.

    Parameters
    ----------
    period_seconds
        Length of a period in seconds of event time.
    top
        Number of keys.
    """

    kind: ClassVar[str] = "top-keys"

    period_seconds: float
    top: int = 5

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Count the messages of each key in each period.

        The series has one row per period and key: ``period`` from 0, ``key``, ``messages``.
        """
        with self.dataset.opened() as stream:
            periods = self._periods(stream, on_messages)
            keys = max(map(len, periods))
            counts = np.stack([np.pad(each, (0, keys - len(each))) for each in periods])
            top = np.argsort(-counts.sum(axis=0), kind="stable")[: self.top]
            names = stream.texts(top).to_pylist()
        series = pa.table(
            {
                "period": np.repeat(np.arange(len(counts)), len(top)),
                "key": names * len(counts),
                "messages": counts[:, top].ravel(),
            }
        )
        return Measurement({"messages": int(counts.sum()), "periods": len(counts)}, series)

    def _periods(
        self, stream: MessageStream, on_messages: OnMessages | None
    ) -> list[NDArray[np.int64]]:
        """Count the messages of each key, period by period."""
        periods: list[NDArray[np.int64]] = []
        done = 0
        for batch in stream.batches():
            numbers = (batch.times // self.period_seconds).astype(np.int64)
            for number in np.unique(numbers).tolist():
                periods.extend(np.zeros(0, dtype=np.int64) for _ in range(len(periods), number + 1))
                periods[number] = _added(periods[number], batch.ids[numbers == number])
            done += len(batch.ids)
            if on_messages is not None:
                on_messages(done)
        return periods


def _added(
    counts: NDArray[np.int64], ids: NDArray[np.int64], weights: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Add messages to the counts of their keys, in place; new keys extend the array.

    A message counts as its weight, or as 1 if there are no weights.
    """
    keys = int(ids.max(initial=-1)) + 1
    if keys > len(counts):
        counts = np.append(counts, np.zeros(keys - len(counts), dtype=np.int64))
    np.add.at(counts, ids, 1 if weights is None else weights)
    return counts
