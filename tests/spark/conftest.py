"""A separate Spark session for this folder, so that its settings do not reach other tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    own.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    return own
