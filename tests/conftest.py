"""What all tests share: one Spark session, one Kafka broker, and Hypothesis without deadlines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.brokers import start_broker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tools.kafka_broker import Broker

# Tests end before Java's second compiler and its threads for memory have paid for themselves:
# with these, Spark takes a third less of the processor, in programs of tests, too.
for _name in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(_name, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Times are measured by benchmarks, never asserted by tests; the same examples run every time.
hypothesis.settings.register_profile("evenkey", deadline=None, derandomize=True)
hypothesis.settings.load_profile("evenkey")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One small Spark: 4 task slots, 4 shuffle partitions, and no task gets a second chance."""
    from evenkey.kafka.connector import connector_settings
    from evenkey.spark.sessions import session

    directory = tmp_path_factory.mktemp("spark")
    small = session(
        "local[4]",
        {
            **connector_settings(),
            "spark.local.dir": str(directory / "local"),
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
            "spark.sql.warehouse.dir": str(directory / "warehouse"),
        },
    )
    yield small
    small.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real Kafka broker on loopback; a test uses topics of its own."""
    running = start_broker(tmp_path_factory.mktemp("kafka"))
    yield running
    running.stop()
