"""The pipeline's worker: aggregates messages, sleeps for their cost, and reports its counts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from evenkey.groupings import MOST_WEIGHT
from evenkey.spark.aggregates import WEIGHT, WorkerTask
from evenkey.spark.sessions import current_task

if TYPE_CHECKING:
    from evenkey.aggregators import Aggregator
    from evenkey.pipeline.runs import EpochFiles

PLACED = "placed"
"""Kind of the epoch files with the workers' counts. These files have the columns worker, key and
messages; if messages are routed or observed by weights, they also have the column weight."""


class PipelineWorker(WorkerTask):
    """A worker that also counts its messages by key, and sleeps for a simulated cost per message.

    Parameters
    ----------
    aggregator, by
        See `WorkerTask`.
    files
        Receives the counts, one file per worker and epoch.
    cost_seconds
        Simulated cost per message, in seconds; the worker sleeps for this time.
    """

    def __init__(
        self,
        aggregator: Aggregator,
        by: tuple[str, ...],
        files: EpochFiles,
        cost_seconds: float,
    ) -> None:
        super().__init__(aggregator, by)
        self._files = files
        self._cost_seconds = cost_seconds
        self._held: list[pa.Table] = []

    def hold(self, messages: pa.Table) -> None:
        """Count the messages by key, and sleep for their cost."""
        counted = messages.select(["key"])
        figures: list[tuple[str | list[str], str]] = [([], "count_all")]
        if WEIGHT in messages.column_names:
            weights = pc.min_element_wise(messages[WEIGHT], pa.scalar(MOST_WEIGHT, pa.int64()))
            counted = counted.append_column("weight", weights)
            figures.append(("weight", "sum"))
        self._held.append(counted.group_by("key").aggregate(figures))
        if self._cost_seconds:
            time.sleep(self._cost_seconds * messages.num_rows)

    def close(self) -> None:
        """Write the counts to this worker's epoch file."""
        _, epoch, worker = current_task()
        held = pa.concat_tables(self._held) if self._held else _NOTHING
        figures = [name for name in held.column_names if name != "key"]
        counts = held.group_by("key").aggregate([(name, "sum") for name in figures])
        workers = pa.repeat(pa.scalar(worker, pa.int32()), counts.num_rows)
        columns = {"worker": workers, "key": counts["key"]}
        for name in figures:
            columns[_FIGURES[name]] = counts[f"{name}_sum"]
        placed = pa.table(columns)
        took = pc.sum(placed["messages"]).as_py() or 0
        self._files.write(PLACED, epoch, worker, placed, took=took)
        self._held = []


_FIGURES = {"count_all": "messages", "weight_sum": "weight"}
_NOTHING = pa.table({"key": pa.array([], pa.string()), "count_all": pa.array([], pa.int64())})
