"""A Spark session for this folder, and small streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.epochs import run_epochs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    return own


@pytest.fixture
def stream_of_files(session, tmp_path):
    """Return a function that makes a stream of a DataFrame's rows, with one file per epoch."""

    def make(df, epochs=3):
        df.repartition(epochs).write.parquet(str(tmp_path / "input"))
        reader = session.readStream.schema(df.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(tmp_path / "input"))

    return make


@pytest.fixture
def run_to_end(tmp_path):
    """Return a function that runs a stream, with a hook after each epoch, and returns its rows."""

    def run(df, after_epoch=lambda _: None):
        epochs = run_epochs(df, tmp_path / "checkpoint", after_epoch=after_epoch)
        return {epoch: rows.to_pylist() for epoch, rows in epochs.items()}

    return run
