"""Sinks: write the results of each epoch once, even if the epoch runs again."""

from __future__ import annotations

import io
import socket
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from evenkey.pipeline.runs.output.commits import RESULTS, epoch_name
from evenkey.pipeline.runs.output.parts import Part
from evenkey.spark.keys import NamedTask, quoted, with_plain_names
from evenkey.spark.sessions import current_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import ClassVar

    from pyspark.sql import DataFrame

    from evenkey.pipeline.runs.output.commits import Commits


class Sink(ABC):
    """Receives the results of each epoch; an epoch that runs again replaces its results."""

    keeps_files: ClassVar[bool] = False
    """Whether the sink writes results to files."""

    @abstractmethod
    def write(self, results: DataFrame, epoch: int) -> Sequence[tuple[Part, str]]:
        """Write the results of epoch number `epoch`, if there are any.

        Returns
        -------
        sequence
            Staged parts for the epoch's commit, each with the host that wrote it.
        """

    def table(self) -> pa.Table | None:
        """Return all results if the sink keeps them in memory; else None."""
        return None

    def committed(self, results: DataFrame, epoch: int) -> None:
        """Pass on a committed epoch, for example to a topic, without computing `results` again.

        This method may be called again for the same epoch, by this or another process.
        """
        del results, epoch


class FileSink(Sink):
    """Writes Parquet or JSON-lines files; the files of an epoch are visible after its commit.

    Each epoch has a directory ``epoch=N``. Tasks write each part completely, and report its number
    of rows, its size and its digest to the driver.

    Parameters
    ----------
    commits
        The commits of the run.
    form
        ``"parquet"`` or ``"json"``.
    """

    keeps_files = True

    def __init__(self, commits: Commits, form: str) -> None:
        self.commits = commits
        self._form = form

    def write(self, results: DataFrame, epoch: int) -> Sequence[tuple[Part, str]]:
        """Write the epoch's parts; a task without results writes none."""
        rows = results
        if self._form == "json":
            row = F.struct(*map(quoted, results.columns))
            rows = results.select(F.to_json(row).alias("line"))
        task = NamedTask(_WriteTask(self.commits, epoch_name(epoch), self._form), rows.columns)
        reported = with_plain_names(rows).mapInArrow(task, _REPORTED).collect()
        parts = []
        for each in reported:
            fields = each.asDict()
            host = fields.pop("host")
            parts.append((Part(RESULTS, **fields, form=self._form), host))
        return parts


_REPORTED = "number int, rows bigint, bytes bigint, digest string, host string"


class _WriteTask:
    """Writes a task's results as one part."""

    def __init__(self, commits: Commits, name: str, form: str) -> None:
        self._commits = commits
        self._name = name
        self._form = form

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        table = pa.Table.from_batches(held)
        content = _lines(table) if self._form == "json" else _parquet(table)
        number = current_task().partition
        part = self._commits.stage(self._name, RESULTS, number, table.num_rows, content, self._form)
        report = {
            "number": number,
            "rows": part.rows,
            "bytes": part.bytes,
            "digest": part.digest,
            "host": socket.gethostname(),
        }
        schema = pa.schema(
            [
                ("number", pa.int32()),
                ("rows", pa.int64()),
                ("bytes", pa.int64()),
                ("digest", pa.string()),
                ("host", pa.string()),
            ]
        )
        yield pa.RecordBatch.from_pylist([report], schema=schema)


def _parquet(table: pa.Table) -> bytes:
    """Encode results with the types of Spark's own Parquet files, except for timestamps.

    Every reader sees timestamps as instants. As INT96, Spark's default, they would have no zone.
    """
    content = io.BytesIO()
    pq.write_table(
        table,
        content,
        store_decimal_as_integer=True,
        store_schema=False,
    )
    return content.getvalue()


def _lines(table: pa.Table) -> bytes:
    return "".join(f"{line}\n" for line in table["line"].to_pylist()).encode()
