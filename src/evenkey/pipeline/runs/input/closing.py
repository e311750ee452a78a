"""The row that closes a finite stream: it is later than all other rows, so every window closes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, InputPartition

from evenkey.pipeline.runs.input.python_sources import QuietReader, register

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit

_LATEST = datetime(9000, 1, 1, tzinfo=UTC)


def closing_rows(spark: SparkSession, closing_file: Path) -> DataFrame:
    """Stream no rows until `closing_file` exists, then one row that is later than all other rows.

    The only column is ``time``. Union this stream with a finite stream before the watermark of the
    finite stream is defined. The row then moves the watermark past all windows, so every accepted
    message reaches the output.
    """
    reader = spark.readStream.format(register(spark, _ClosingSource))
    return reader.option("closing_file", str(closing_file)).load()


class _ClosingSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "evenkey-closing"

    def schema(self) -> str:
        return "time timestamp"

    def streamReader(self, schema: Any) -> _ClosingReader:  # noqa: N802 - the name is Spark's
        del schema
        return _ClosingReader(self.options["closing_file"])


class _ClosingReader(QuietReader):
    def __init__(self, closing_file: str) -> None:
        self._closing_file = Path(closing_file)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - the name is Spark's
        return {"closed": 0}

    def latestOffset(  # noqa: N802 - the name is Spark's
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        del limit
        return {"closed": 1} if self._closing_file.exists() else start

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(None)] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[tuple[datetime]]:
        del partition
        yield (_LATEST,)
