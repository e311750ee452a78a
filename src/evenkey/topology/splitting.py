"""Split raw lines into messages on Spark, and put what cannot be split into dead letters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.spark.task import current_task
from evenkey.streams.splits import Found, vet
from evenkey.topology.sources import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from evenkey.streams.splits import Splitter
    from evenkey.topology.epoch_files import EpochFiles

__all__ = ["DEAD_LETTERS", "SPLITS", "split_lines", "vet_rows"]

DEAD_LETTERS = "dead-letters"
"""Kind of the epoch files that hold rejected lines: where they are, line, reason."""
SPLITS = "splits"
"""Kind of the epoch files that count: lines read and lines rejected."""


def split_lines(
    lines: DataFrame,
    splitter: Splitter,
    dead_letters: EpochFiles,
    files: EpochFiles,
    *,
    places: tuple[str, ...] = ("position",),
) -> DataFrame:
    """Split raw lines: accepted messages go on, rejected lines into dead letters.

    Parameters
    ----------
    lines
        `places`, ``line`` (binary), ``time``.
    splitter
        Takes lines apart.
    dead_letters
        Where rejected lines go, one file a task and epoch.
    files
        Where tasks count what they read and rejected.
    places
        Columns that say where a line is, for the dead letters; the last one is its number.

    Returns
    -------
    DataFrame
        ``position`` (the line's number), ``key``, ``count``, ``time``, in the order of the lines.
    """
    return lines.mapInArrow(_SplitTask(splitter, dead_letters, files, places), MESSAGES)


def vet_rows(rows: DataFrame, dead_letters: EpochFiles, files: EpochFiles) -> DataFrame:
    """Reject rows that have a key and a count already, but not good ones; as `split_lines`."""
    return rows.mapInArrow(_VetTask(dead_letters, files), MESSAGES)


class _Task(ABC):
    """Keeps rejected lines until the task ends, then writes them down with the counts."""

    def __init__(self, dead_letters: EpochFiles, files: EpochFiles) -> None:
        self._dead_letters = dead_letters
        self._files = files

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read, rejected = 0, []
        for batch in batches:
            read += batch.num_rows
            messages, letters = self.take_apart(batch)
            rejected.append(letters)
            yield from messages.to_batches()
        letters = pa.concat_tables(rejected) if rejected else _NONE
        _, epoch, part = current_task()
        self._dead_letters.write(DEAD_LETTERS, epoch, part, letters)
        counts = pa.table({"lines": [read], "rejected": [letters.num_rows]})
        self._files.write(SPLITS, epoch, part, counts)

    @abstractmethod
    def take_apart(self, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
        """Give the messages of a batch, and its dead letters."""


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
        split = self._splitter.split(batch["line"])
        line = split.messages["line"].combine_chunks()
        messages = pa.table(
            {
                "position": batch[self._places[-1]].take(line),
                "key": split.messages["key"],
                "count": split.messages["count"],
                "time": batch["time"].take(line),
            }
        )
        line = split.rejected["line"].combine_chunks()
        raw = batch["line"].take(line).to_pylist()
        text = [each.decode("utf-8", errors="replace") for each in raw]
        letters = {
            **{place: batch[place].take(line) for place in self._places},
            "line": pa.array(text, pa.string()),
            "reason": split.rejected["reason"],
        }
        return messages, pa.table(letters)


class _VetTask(_Task):
    def take_apart(self, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
        places = pa.array(np.arange(batch.num_rows))
        sound = pa.nulls(batch.num_rows, pa.string())
        split = vet(Found(places, batch["key"], batch["count"], sound))
        good = split.messages["line"].combine_chunks()
        bad = split.rejected["line"].combine_chunks()
        letters = [batch["position"].take(bad), batch["key"].take(bad), split.rejected["reason"]]
        messages = pa.Table.from_batches([batch.take(good)])
        return messages, pa.Table.from_arrays(letters, schema=_NONE.schema)


_NONE = pa.table(
    {
        "position": pa.array([], pa.int64()),
        "line": pa.array([], pa.string()),
        "reason": pa.array([], pa.string()),
    }
)
