"""Rows made by a test, as the epochs of a stream."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SOURCES = 2
"""Number of files per epoch; one task reads each file."""


def offer(directory: Path, epochs: Sequence[pa.Table]) -> None:
    """Write the files of epochs that do not exist yet."""
    directory.mkdir(parents=True, exist_ok=True)
    for epoch, rows in enumerate(epochs):
        half = -(-rows.num_rows // SOURCES)
        for source in range(SOURCES):
            file = directory / f"{epoch}-{source}.parquet"
            if not file.exists():
                pq.write_table(rows.slice(source * half, half), file)
                os.utime(file, (epoch + 1, epoch + 1))  # Spark reads the oldest file first


def stream_of(session: SparkSession, directory: Path) -> DataFrame:
    """Return a stream that reads the files, one epoch after the other."""
    session.conf.set("spark.sql.files.openCostInBytes", str(1 << 40))  # no two files in one task
    schema = session.read.parquet(str(directory)).schema
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", SOURCES)
    return reader.parquet(str(directory))
