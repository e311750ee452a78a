"""Split raw lines into messages on Spark; invalid lines become dead letters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators import WORKER
from evenkey.core.hashing import hash_strings
from evenkey.core.streams import EVENT_TIME, Split, found_in, vet
from evenkey.pipeline.aggregate.messages.readings import MESSAGES, spelled
from evenkey.spark.keys import FAR_AHEAD, seconds_of
from evenkey.spark.sessions import current_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from evenkey.core.streams import Splitter
    from evenkey.pipeline.runs import EpochFiles
    from evenkey.spark.routing import RoutingTask

LATEST = "__evenkey_latest"
"""Column with the latest time that a message may have, if messages have their own time."""
_NO_COLUMNS = pa.schema([])


def split_lines(
    lines: DataFrame,
    splitter: Splitter,
    dead_letters: EpochFiles,
    files: EpochFiles,
    *,
    places: tuple[str, ...] = ("position",),
    routing: RoutingTask | None = None,
) -> DataFrame:
    """Split raw lines into messages, and write rejected lines to dead letters.

    Parameters
    ----------
    lines
        Streaming DataFrame with the columns `places`, ``line`` (binary) and ``time``. Two more
        columns are optional: a line is rejected if its `FAR_AHEAD` is true, and a message is
        rejected if its own time is later than the `LATEST` of its line.
    splitter
        Splits lines.
    dead_letters
        Receives rejected lines, one file per task and epoch.
    files
        Receives the tasks' counts of read and rejected lines.
    places
        Columns that locate a line, for the dead letters; the last column is the line's number.
    routing
        Routes the messages in the same pass, to avoid a second transfer to Python; None: messages
        are routed later.

    Returns
    -------
    DataFrame
        Messages in the order of the lines, with the columns ``position`` (the line's number),
        ``key``, ``count``, ``time``, the columns of the splitter's `extra`, and the worker if
        `routing` routes the messages.
    """
    task = _SplitTask(splitter, dead_letters, files, places)
    return _messages(lines, task, routing, splitter.extra)


def vet_rows(
    rows: DataFrame,
    dead_letters: EpochFiles,
    files: EpochFiles,
    *,
    extra: pa.Schema = _NO_COLUMNS,
    routing: RoutingTask | None = None,
) -> DataFrame:
    """Validate rows that already have a key and a count, and write rejected rows to dead letters.

    `extra` are further columns of the messages; the other parameters are those of `split_lines`.
    """
    return _messages(rows, _VetTask(dead_letters, files, extra), routing, extra)


def _messages(
    rows: DataFrame, task: _Task, routing: RoutingTask | None, extra: pa.Schema
) -> DataFrame:
    schema = ", ".join([MESSAGES, *map(spelled, extra)])
    if routing is None:
        return rows.mapInArrow(task, schema)
    decided = routing.decided(rows)
    return decided.mapInArrow(_RoutedTask(task, routing), f"{schema}, {WORKER} int")


class _Task(ABC):
    """Collects rejected lines until the task ends, then writes these lines and the counts."""

    def __init__(self, dead_letters: EpochFiles, files: EpochFiles) -> None:
        self._dead_letters = dead_letters
        self._files = files

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read, passed_on, rejected = 0, 0, []
        for batch in batches:
            read += batch.num_rows
            messages, bad = self.take_apart(batch)
            passed_on += messages.num_rows
            rejected.append(bad)
            yield from messages.to_batches()
        dead_letters = pa.concat_tables(rejected) if rejected else _NONE
        _, epoch, part = current_task()
        self._dead_letters.write(self._files.DEAD_LETTERS, epoch, part, dead_letters)
        counts = pa.table({"lines": [read], "rejected": [dead_letters.num_rows]})
        self._files.write(self._files.SPLITS, epoch, part, counts, took=read, gave=passed_on)

    @abstractmethod
    def take_apart(self, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
        """Split or validate a batch; return its messages and its dead letters."""


class _SplitTask(_Task):
    def __init__(
        self,
        splitter: Splitter,
        dead_letters: EpochFiles,
        files: EpochFiles,
        places: tuple[str, ...],
    ) -> None:
        super().__init__(dead_letters, files)
        self._splitter = splitter
        self._places = places

    def take_apart(self, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
        if FAR_AHEAD not in batch.schema.names:
            return self._split(batch)
        far = batch.filter(batch[FAR_AHEAD])
        messages, rejected = self._split(batch.filter(pc.invert(batch[FAR_AHEAD])))
        reasons = _far_reasons(far["time"])
        return messages, pa.concat_tables([self._rejected(far, reasons), rejected])

    def _split(self, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
        split = without_far(self._splitter.split(batch["line"]), batch)
        line = split.messages["line"].combine_chunks()
        messages = pa.table(
            {
                "position": batch[self._places[-1]].take(line),
                "key": split.messages["key"],
                "count": split.messages["count"],
                "time": batch["time"].take(line),
                **{name: split.messages[name] for name in self._splitter.extra.names},
            }
        )
        rejected = batch.take(split.rejected["line"].combine_chunks())
        return messages, self._rejected(rejected, split.rejected["reason"])

    def _rejected(self, lines: pa.RecordBatch, reasons: pa.Array | pa.ChunkedArray) -> pa.Table:
        text = [each.decode("utf-8", errors="replace") for each in lines["line"].to_pylist()]
        return pa.table(
            {
                **{place: lines[place] for place in self._places},
                "line": pa.array(text, pa.string()),
                "reason": reasons,
            }
        )


class _VetTask(_Task):
    def __init__(self, dead_letters: EpochFiles, files: EpochFiles, extra: pa.Schema) -> None:
        super().__init__(dead_letters, files)
        self._extra = extra
        self._columns = ["position", "key", "count", "time", *extra.names]

    def take_apart(self, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
        places = pa.array(np.arange(batch.num_rows))
        split = without_far(vet(found_in(batch, places, self._extra)), batch)
        good = split.messages["line"].combine_chunks()
        bad = split.rejected["line"].combine_chunks()
        rejected = [batch["position"].take(bad), batch["key"].take(bad), split.rejected["reason"]]
        messages = pa.Table.from_batches([batch.select(self._columns).take(good)])
        return messages, pa.Table.from_arrays(rejected, schema=_NONE.schema)


def without_far(split: Split, batch: pa.RecordBatch) -> Split:
    """Reject messages whose own time is later than `LATEST`, if the batch has this column."""
    if LATEST not in batch.schema.names or not split.messages.num_rows:
        return split
    messages = split.messages
    latest = batch[LATEST].take(messages["line"].combine_chunks())
    far = pc.greater(messages[EVENT_TIME], latest)
    if not pc.any(far).as_py():
        return split
    late = messages.filter(far)
    too_late = pa.table({"line": late["line"], "reason": _far_reasons(late[EVENT_TIME])})
    rejected = pa.concat_tables([split.rejected, too_late]).sort_by("line")
    return Split(messages.filter(pc.invert(far)), rejected.combine_chunks())


def _far_reasons(times: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    written = times.cast(pa.timestamp("us")).cast(pa.string())
    return pc.binary_join_element_wise("its time", written, _AHEAD, " ")


class _RoutedTask:
    """Runs a task and routes its messages, in one transfer from Spark to Python and back."""

    def __init__(self, task: _Task, routing: RoutingTask) -> None:
        self._task = task
        self._routing = routing

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self._routing.source() as source:
            for messages in self._task(batches):
                workers = source.route(
                    hash_strings(messages["key"]), seconds_of(messages["time"]), messages["count"]
                )
                yield messages.append_column(WORKER, workers)


_AHEAD = "is further ahead of the epoch's processing time than max_ahead allows"

_NONE = pa.table(
    {
        "position": pa.array([], pa.int64()),
        "line": pa.array([], pa.string()),
        "reason": pa.array([], pa.string()),
    }
)
