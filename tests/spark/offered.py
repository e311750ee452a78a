"""Rows that a test makes itself, offered as the epochs of a stream."""

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
"""Files of an epoch, each of which one task reads."""


def offer(directory: Path, epochs: Sequence[pa.Table]) -> None:
    """Write the epochs that are not there yet."""
    directory.mkdir(parents=True, exist_ok=True)
    for epoch, rows in enumerate(epochs):
        half = -(-rows.num_rows // SOURCES)
        for source in range(SOURCES):
            file = directory / f"{epoch}-{source}.parquet"
            if not file.exists():
                pq.write_table(rows.slice(source * half, half), file)
                os.utime(file, (epoch + 1, epoch + 1))  # Spark takes the oldest first


def stream_of(session: SparkSession, directory: Path) -> DataFrame:
    """Read them, one epoch after the other."""
    session.conf.set("spark.sql.files.openCostInBytes", str(1 << 40))  # no two files in one task
    schema = session.read.parquet(str(directory)).schema
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", SOURCES)
    return reader.parquet(str(directory))
