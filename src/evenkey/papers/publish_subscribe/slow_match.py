"""Slow matching: a worker sleeps in proportion to the processor time of its matching.

A worker that sleeps leaves its core to others. So few cores carry many workers side by side, and
the time of a run shows how their load is balanced.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.joins import PartitionJoin, SpatialMatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from evenkey.joins import Leaves
    from evenkey.spark.slots import Sized


@dataclass(frozen=True)
class SlowMatch(SpatialMatch):
    """Condition of a join by space that is matched slowly.

    Parameters
    ----------
    slow_down
        Duration of matching over its processor time, at least 1.

    Examples
    --------
    >>> SlowMatch(pipeline="sps", slow_down=20.0).slow_down
    20.0
    """

    slow_down: float = 1.0

    def within_partitions(self, leaves: Leaves, columns: tuple[str, ...]) -> PartitionJoin:
        """Make the join within a partition."""
        join = super().within_partitions(leaves, columns)
        return join if self.slow_down == 1 else SlowJoin(join, self.slow_down)


@dataclass(frozen=True)
class SlowJoin(PartitionJoin):
    """Joins within a partition, and sleeps after each step.

    Parameters
    ----------
    join
        The join.
    slow_down
        Duration of a step with its sleep, over the processor time of the step.
    """

    join: PartitionJoin
    slow_down: float

    def prepare(self, table: pa.Table, partition: int) -> Sized:
        """Prepare a static partition."""
        began = time.thread_time()
        prepared = self.join.prepare(table, partition)
        self._sleep(began)
        return prepared

    def match(self, prepared: Any, rows: pa.Table) -> Iterator[pa.Table]:
        """Join rows of the stream with a prepared partition."""
        began = time.thread_time()
        for matches in self.join.match(prepared, rows):
            self._sleep(began)
            yield matches
            began = time.thread_time()
        self._sleep(began)

    def _sleep(self, began: float) -> None:
        """Sleep for the step that began at this time of the thread's clock."""
        time.sleep((self.slow_down - 1) * (time.thread_time() - began))
