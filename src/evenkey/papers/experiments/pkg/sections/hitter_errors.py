"""Measure the errors of heavy hitters that are found with one summary per worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.sketches import SpaceSaving
from evenkey.groupings import parse
from evenkey.papers.experiments.pkg.draws import Drawn, hashes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class HitterErrors(Drawn):
    """Workers summarise their messages by SpaceSaving; the counts of a key are added up.

    A summary that does not hold a key counts its floor, which is then the error too. Only the
    summaries of workers to which the grouping may send a key are asked (section 4.2).

    Parameters
    ----------
    grouping
        The grouping by which one source routes.
    workers
        Number of workers.
    top
        Number of the most frequent keys whose errors are measured.
    capacity
        Number of counters of a worker's summary.
    """

    kind: ClassVar[str] = "hitter-errors"
    names: ClassVar[tuple[str, ...]] = ("error", "bound", "terms")

    grouping: str
    workers: int
    top: int
    capacity: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return means of errors and of their bounds in messages, and the most terms of a bound."""
        stream = self.stream(seed)
        ids = stream.ids(0, stream.length)
        true = np.bincount(ids, minlength=stream.key_count)
        hot = np.argsort(-true, kind="stable")[: self.top]
        grouping = parse(self.grouping)
        placed = grouping.router(self.workers).route(hashes(stream.key_count, seed)[ids])
        asked = np.ones((self.top, self.workers), dtype=bool)
        if grouping.most_workers_of_a_key is not None:
            pairs = np.unique(ids * self.workers + placed)
            asked = np.isin(hot[:, None] * self.workers + np.arange(self.workers), pairs)
        found = [self._summary(ids[placed == worker], hot) for worker in range(self.workers)]
        counts, errors = (
            np.where(asked.T, each, 0).sum(axis=0) for each in zip(*found, strict=True)
        )
        return {
            "error": float(np.abs(counts - true[hot]).mean()),
            "bound": float(errors.mean()),
            "terms": int(asked.sum(axis=1).max()),
        }

    def _summary(
        self, ids: NDArray[np.int64], keys: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Summarise a worker's messages; return its counts of keys, and their errors."""
        sketch = SpaceSaving(self.capacity)
        sketch.update(ids.astype(np.uint64))
        items = sketch.items()
        rows = {int(key): row for row, key in enumerate(items["key"])}
        places = np.array([rows.get(int(key), -1) for key in keys])
        held = places >= 0
        counts = np.where(held, items["count"][places], sketch.floor)
        return counts, np.where(held, items["error"][places], sketch.floor)
