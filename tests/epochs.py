"""Run streaming queries to their end in tests, and inspect each epoch.

The function or sink that receives an epoch runs in the driver, which over Spark Connect is another
process. So it passes rows to the test in files, and the query waits until the test has read them.
"""

from __future__ import annotations

import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from evenkey.pipeline.runs.input.python_sources import register
from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["run_epochs"]

_PAUSE = 0.005
_END = "end"


def run_epochs(
    df: DataFrame,
    checkpoint: Path,
    *,
    after_epoch: Callable[[int], object] = lambda _: None,
    work: Callable[[DataFrame], DataFrame] | None = None,
    after_query: Callable[[Any], object] = lambda _: None,
) -> dict[int, pa.Table]:
    """Run a query until its source has no more rows.

    Parameters
    ----------
    df
        A streaming DataFrame.
    checkpoint
        Checkpoint location of the query.
    after_epoch
        Function that is called in this process after each epoch, before the next one begins.
    work
        Function that `foreachBatch` applies to the rows of an epoch first.
    after_query
        Function that is called with the query when all input is read and the query still runs.

    Returns
    -------
    dict
        The rows of each epoch, by its number.
    """
    epochs = {}
    session = df.sparkSession
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(1) as waiting:
        place = Path(directory)
        writer = df.writeStream.option("checkpointLocation", str(checkpoint))
        if work is None and is_remote(session):
            # Over Connect, tasks do not know their epoch in a function of foreachBatch.
            writer = writer.format(register(session, _Sink)).option("place", directory)
        else:
            writer = writer.foreachBatch(_Batch(place, work))
        query = writer.start()
        try:
            read = waiting.submit(query.processAllAvailable)
            while not read.done():
                time.sleep(_PAUSE)
                for file in place.glob("*.arrow"):
                    epoch = int(file.stem)
                    epochs[epoch] = _read(file)
                    file.unlink()
                    after_epoch(epoch)
                    (place / f"{epoch}.taken").touch()
            read.result()
            after_query(query)
        finally:
            (place / _END).touch()  # Spark waits for the running epoch
            query.stop()
    schema = next((rows.schema for rows in epochs.values() if rows.num_columns), pa.schema([]))
    return {
        epoch: rows if rows.num_columns else schema.empty_table() for epoch, rows in epochs.items()
    }


def _read(file: Path) -> pa.Table:
    return pa.ipc.open_stream(file.read_bytes()).read_all()


def _write(file: Path, rows: pa.Table) -> None:
    written = file.with_suffix(".written")
    with pa.OSFile(str(written), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    written.rename(file)


def _hand_over(place: Path, epoch: int, rows: pa.Table) -> None:
    _write(place / f"{epoch}.arrow", rows)
    while not (place / f"{epoch}.taken").exists():
        if (place / _END).exists():
            message = "the test ends its query"
            raise RuntimeError(message)
        time.sleep(_PAUSE)


class _Batch:
    """A function for `foreachBatch`."""

    def __init__(self, place: Path, work: Callable[[DataFrame], DataFrame] | None) -> None:
        self._place, self._work = place, work

    def __call__(self, batch: DataFrame, epoch: int) -> None:
        rows = batch if self._work is None else self._work(batch)
        _hand_over(self._place, epoch, rows.toArrow())


@dataclass
class _Part(WriterCommitMessage):
    """Path of the file with a task's rows; empty if there were none."""

    file: str


class _Sink(DataSource):
    """A data source that passes epochs on as `_Batch` does."""

    @classmethod
    def name(cls) -> str:
        return "epochs"

    def streamWriter(self, schema: StructType, overwrite: bool) -> _Writer:  # noqa: N802, FBT001 - Spark's own
        del schema, overwrite
        return _Writer(Path(self.options["place"]))


class _Writer(DataSourceStreamArrowWriter):
    def __init__(self, place: Path) -> None:
        self._place = place

    def write(self, iterator: Iterator[pa.RecordBatch]) -> _Part:
        batches = list(iterator)
        if not batches:
            return _Part("")
        part = self._place / f"{uuid.uuid4().hex}.part"
        _write(part, pa.Table.from_batches(batches))
        return _Part(str(part))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's own
        parts = [Path(each.file) for each in messages if isinstance(each, _Part) and each.file]
        tables = [_read(part) for part in parts]
        _hand_over(self._place, batchId, pa.concat_tables(tables) if tables else pa.table({}))
