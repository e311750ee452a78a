"""A Spark session of this room's own, and small streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    return own


@pytest.fixture
def stream_of_files(session, tmp_path):
    """Give a stream of a DataFrame's rows, one file an epoch, and what runs it to its end."""

    def make(df, epochs=3):
        df.repartition(epochs).write.parquet(str(tmp_path / "input"))
        reader = session.readStream.schema(df.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(tmp_path / "input"))

    return make


@pytest.fixture
def run_to_end(tmp_path):
    """Run a streaming DataFrame to its end and give its rows; between epochs call a hook."""

    def run(df, after_epoch=lambda _: None):
        parts = {}

        def keep(rows, epoch):
            parts[epoch] = rows.toArrow().to_pylist()
            after_epoch(epoch)

        query = (
            df.writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        return parts

    return run
