"""The head (the hottest keys): how each source detects it, and how sources are merged."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.sketches import SpaceSaving
from evenkey.groupings.base import Grouping, LocalLoadRouter, Snapshot
from evenkey.groupings.tables.key_table import check_read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LEAST_CAPACITY = 1000
_COUNTERS_A_HEAD_KEY = 4


@dataclass(frozen=True)
class HeadGrouping(Grouping):
    """A grouping that finds the hottest keys with a SpaceSaving sketch.

    A key is in the head while ``count - error > threshold * total`` (decision 020). Here ``count``
    is the key's count in the sketch, ``error`` is the maximum error of this count, and ``total`` is
    the number of all messages.

    Parameters
    ----------
    threshold
        Share of a source's messages above which a key is in the head, above 0 and below 1;
        None: ``1 / (5 * W)``.
    capacity
        Number of counters of the sketch. None: 4 times the maximum number of keys in the head, but
        at least 1,000.
    decay
        Factor by which all counts are multiplied at the end of each epoch; above 0 and at most 1.
        Counts do not decay within an epoch. With 1, nothing is forgotten.
    """

    learns: ClassVar[bool] = True
    compiled: ClassVar[bool] = True

    threshold: float | None = None
    capacity: int | None = None
    decay: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self)
        if self.threshold is not None and not 0 < self.threshold < 1:
            message = f"{self.name}: threshold = {self.threshold:g}: must be above 0 and below 1"
            raise ConfigurationError(message)
        if self.capacity is not None and self.capacity < 1:
            message = f"{self.name}: capacity = {self.capacity}: must be at least 1 counter"
            raise ConfigurationError(message)
        if not 0 < self.decay <= 1:
            message = f"{self.name}: decay = {self.decay:g}: must be above 0 and at most 1"
            raise ConfigurationError(message)

    def head_share(self, workers: int) -> float:
        """Return the share of messages above which a key is in the head, for W workers."""
        return 1 / (5 * workers) if self.threshold is None else self.threshold

    def sketch(self, workers: int) -> SpaceSaving:
        """Make an empty sketch that is large enough to find the head for a number of workers."""
        fitting = math.ceil(_COUNTERS_A_HEAD_KEY / self.head_share(workers))
        return SpaceSaving(self.capacity or max(_LEAST_CAPACITY, fitting))

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge the sketches: a count becomes its mean over all sources, times `decay`."""
        sketches = [_sketch_of(memory) for memory in memories if memory]
        if not sketches:
            return {}
        merged = functools.reduce(SpaceSaving.merge, sketches)
        merged.decay(self.decay / len(sketches))
        return _memory_of(merged)


class HeadRouter(LocalLoadRouter):
    """A router that gives each key of the head d candidates, and each other key two candidates.

    Parameters
    ----------
    epsilon, interval
        `epsilon` is the imbalance that d may leave, as a share of all messages. `interval` is the
        maximum number of messages between two computations of d. With an interval of 0, d is always
        the number of workers.
    """

    def __init__(
        self, grouping: HeadGrouping, workers: int, source: int, *, epsilon: float, interval: int
    ) -> None:
        super().__init__(workers, source)
        self._sketch = grouping.sketch(workers)
        self._rules = grouping.head_share(workers), epsilon, interval
        # d is computed after 1, 2, 4, ... messages until an interval has passed, then once per
        # interval.
        self._tally = np.array([0, min(interval, 1), workers], dtype=np.int64)

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times
        from evenkey.groupings.heads import _kernels

        counters = self._sketch.counters
        _kernels.head_and_tail(
            keys, weights, *counters, self._tally, self._rules, self.sent, workers
        )

    def snapshot(self) -> Snapshot:
        """Return a copy of the whole state."""
        return {**super().snapshot(), **_memory_of(self._sketch), "tally": self._tally.copy()}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        super().restore(snapshot)
        if "sketch" in snapshot:
            tally = snapshot["tally"].astype(np.int64)
            check_read(sound=tally.shape == self._tally.shape)
            self._sketch, self._tally = _sketch_of(snapshot), tally

    def memory(self) -> Snapshot:
        """Return the sketch, from which later epochs start; empty if the sketch has no keys."""
        return _memory_of(self._sketch) if len(self._sketch) else {}

    def remember(self, memory: Snapshot) -> None:
        """Start from the merged sketch of earlier epochs, if there is one."""
        if not memory:
            return
        from evenkey.groupings.heads import _kernels

        self._sketch = _sketch_of(memory)
        threshold, epsilon, interval = self._rules
        if interval:
            rows, _, _, head = self._sketch.counters
            choices = _kernels.solve(rows, head, threshold, epsilon, self.workers)
            self._tally = np.array([0, interval, choices], dtype=np.int64)


def _memory_of(sketch: SpaceSaving) -> Snapshot:
    return {"sketch": np.frombuffer(sketch.to_bytes(), dtype=np.uint8)}


def _sketch_of(memory: Snapshot) -> SpaceSaving:
    return SpaceSaving.from_bytes(memory["sketch"].tobytes())
