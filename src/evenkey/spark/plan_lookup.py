"""The native route of planned grouping: a worker for each row by Spark's own expressions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.groupings.planned import (
    GOLDEN,
    OFFSET,
    OWNER_BITS,
    Plan,
    compile_plan,
    unplanned,
)
from evenkey.spark.columns import row_numbers
from evenkey.spark.task import current_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import Planned, Snapshot
    from evenkey.spark.routing_table import RoutingTables

__all__ = ["read_memory", "with_planned_worker"]

_FIELDS = {
    "words": "array<bigint>",
    "shift": "int",
    "slot_keys": "array<bigint>",
    "slot_places": "array<int>",
    "starts": "array<int>",
    "sizes": "array<int>",
    "workers": "array<int>",
    "others": "array<int>",
    "limits": "array<double>",
}
_LOW_32 = (1 << 32) - 1
_OWNER = (1 << OWNER_BITS) - 1
_STEPS = tuple(f"__evenkey_{name}" for name in ("hash", "word", "slot", "place", "point"))


def read_memory(tables: RoutingTables, query: str, epoch: int) -> Snapshot:
    """Read what a query's epoch starts from: its own table, else that of the directory.

    Raises
    ------
    RunError
        The table cannot be read.
    ConfigurationError
        The table belongs to another grouping or worker count.
    """
    return tables.under(query).read(epoch).memory or tables.read(epoch).memory


def with_planned_worker(
    df: DataFrame,
    hashed: Column,
    grouping: Planned,
    workers: int,
    tables: RoutingTables,
    name: str,
    position: Column | None = None,
) -> DataFrame:
    """Add the int column `name`: the worker of each row by the plan in `tables`.

    The plan is one row of arrays, which Spark reads as a scalar subquery: once a batch job, and
    once an epoch of a stream, before the epoch's tasks start, so that all of them see the same
    one. Messages of split keys are dealt by `position` (golden ratio), which is the position in
    the partition in a batch where none is given. Spark does not number the rows of a stream:
    without positions it deals them by random numbers, a function of partition and row.
    """
    if position is None and not df.isStreaming:
        position = row_numbers()
    read = LookupTask(grouping, workers, tables)
    schema = ", ".join(f"{field} {kind}" for field, kind in _FIELDS.items())
    plan = df.sparkSession.range(0, 1, 1, 1).mapInArrow(read, schema)
    lookup = plan.select(F.struct("*").alias("lookup")).scalar()
    hash_, word, slot, place, point = (F.col(step) for step in _STEPS)
    buckets = grouping.bucket_count(workers)
    upper = (F.shiftrightunsigned(hash_, 32) + F.lit(OFFSET)).bitwiseAND(F.lit(_LOW_32))
    product = (upper * F.shiftrightunsigned(word, OWNER_BITS)).bitwiseAND(F.lit(_LOW_32))
    split = place - F.lit(workers)
    scaled = point * F.get(lookup["sizes"], split)
    whole = F.floor(scaled).cast("int")
    piece = F.get(lookup["starts"], split) + whole
    dealt = F.when(
        scaled - whole < F.get(lookup["limits"], piece), F.get(lookup["workers"], piece)
    ).otherwise(F.get(lookup["others"], piece))
    steps = (
        hashed,
        F.get(lookup["words"], hash_.bitwiseAND(F.lit(buckets - 1)).cast("int")),
        F.call_function("shiftrightunsigned", product, lookup["shift"]).cast("int"),
        F.when(
            F.get(lookup["slot_keys"], slot) == hash_, F.get(lookup["slot_places"], slot)
        ).otherwise(word.bitwiseAND(F.lit(_OWNER)).cast("int")),
        F.rand() if position is None else _evenly(position),
    )
    for step, column in zip(_STEPS, steps, strict=True):
        df = df.withColumn(step, column)
    worker = F.when(place < F.lit(workers), place).otherwise(dealt)
    return df.withColumn(name, worker).drop(*_STEPS)


def _evenly(position: Column) -> Column:
    """Multiples of the golden ratio, modulo 1."""
    multiple = position * F.lit(GOLDEN)
    return multiple - F.floor(multiple)


class LookupTask:
    """Reads the plan of the query's epoch, as one row."""

    def __init__(self, grouping: Planned, workers: int, tables: RoutingTables) -> None:
        self._grouping = grouping
        self._workers = workers
        self._tables = tables

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give the row, in place of the one that is there."""
        for _ in batches:
            task = current_task()
            memory = read_memory(self._tables, task.query, task.epoch)
            if memory:
                plan = Plan.from_arrays(memory)
            else:
                plan = unplanned(self._grouping.bucket_count(self._workers), self._workers)
            columns = _columns(plan)
            arrays = [pa.array([columns[field]], _ARROW[kind]) for field, kind in _FIELDS.items()]
            yield pa.RecordBatch.from_arrays(arrays, names=list(_FIELDS))


_ARROW = {
    "array<bigint>": pa.list_(pa.int64()),
    "array<int>": pa.list_(pa.int32()),
    "array<double>": pa.list_(pa.float64()),
    "int": pa.int32(),
}


def _columns(plan: Plan) -> dict[str, Any]:
    lookup = compile_plan(plan)
    sizes = np.diff(lookup.starts)
    others, limits = _alias(lookup.starts, lookup.workers, lookup.cuts)
    return {
        "words": lookup.words.view(np.int64),
        "shift": 32 - (len(lookup.slot_keys).bit_length() - 1),
        "slot_keys": lookup.slot_keys.view(np.int64),
        "slot_places": lookup.slot_places,
        "starts": lookup.starts[:-1].astype(np.int32),
        "sizes": sizes.astype(np.int32),
        "workers": lookup.workers,
        "others": others,
        "limits": limits,
    }


def _alias(
    starts: NDArray[np.int64], workers: NDArray[np.int32], cuts: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Make alias tables of the split keys' shares, which find a worker without a search.

    A point in the unit interval falls into one of n equal cells; below the cell's limit it is
    the cell's own worker, above it the other one (Walker, ACM TOMS 3, 1977).
    """
    others, limits = workers.copy(), np.ones(len(workers))
    for start, stop in itertools.pairwise(starts):
        left = np.diff(cuts[start:stop], prepend=0.0) * (stop - start)
        short = [cell for cell in range(len(left)) if left[cell] < 1]
        long = [cell for cell in range(len(left)) if left[cell] >= 1]
        while short and long:
            cell = short.pop()
            others[start + cell], limits[start + cell] = workers[start + long[-1]], left[cell]
            left[long[-1]] -= 1 - left[cell]
            if left[long[-1]] < 1:
                short.append(long.pop())
    return others, limits
