"""Measure the errors of heavy hitters that are found with one summary per worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.aggregators import WORKER, HeavyHitters
from evenkey.groupings import parse
from evenkey.papers.experiments.pkg.sections.draws import Drawn, hashes

if TYPE_CHECKING:
    from collections.abc import Mapping

_BATCHES = 20


@dataclass(frozen=True)
class HitterErrors(Drawn):
    """Workers summarise their messages by SpaceSaving; the summaries are merged at the end.

    Parameters
    ----------
    grouping
        The grouping by which one source routes.
    workers
        Number of workers.
    top
        Number of heavy hitters to find.
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
        grouping = parse(self.grouping)
        placed = grouping.router(self.workers).route(hashes(stream.key_count, seed)[ids])
        hitters = HeavyHitters(self.top, self.capacity, grouping.most_workers_of_a_key)
        parts = []
        for part in np.array_split(np.arange(len(ids)), _BATCHES):
            messages = pa.table({"key": ids[part], WORKER: placed[part]})
            parts.append(hitters.partial(messages, []))
        merged = hitters.merge(pa.concat_tables(parts), [])
        found = hitters.finish(merged, [])
        true = np.bincount(ids, minlength=stream.key_count)[found["key"].to_numpy()]
        return {
            "error": float(np.abs(found["count"].to_numpy() - true).mean()),
            "bound": float(found["error"].to_numpy().mean()),
            "terms": float(found["terms"].to_numpy().max()),
        }
