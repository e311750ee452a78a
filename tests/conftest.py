"""What all tests share: one Spark session, one Kafka broker, and Hypothesis without deadlines."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from evenkey.errors import ConfigurationError
from tests.brokers import start_broker
from tools.spark_home import use_home_without_zips

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from pyspark.sql import SparkSession

    from tools.kafka_broker import Broker

# Tests end before Java's second compiler and its threads for memory have paid for themselves:
# with these, Spark takes a third less of the processor, in programs of tests, too.
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_LAUNCHER_OPTS", _OPTIONS)
# `make test` has written Spark's classes there: a third less again. Another Java passes them over.
_CLASSES = Path(__file__).parents[1] / "build" / "java-classes.jsa"
if _CLASSES.exists():
    _OPTIONS += f" -XX:SharedArchiveFile={_CLASSES} -Xlog:cds*=off -Xlog:class+path=off"
os.environ.setdefault("SPARK_SUBMIT_OPTS", _OPTIONS)
# Programs of tests have it, too: Python processes that Spark starts there compile nothing anew.
use_home_without_zips()

# Spark's usual manager starts several processes (readlink, chmod) for each file of a checkpoint.
# Programs of tests, those that kill runs among them, have the usual one.
_CHECKPOINTS = {
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming"
    ".checkpointing.FileSystemBasedCheckpointFileManager",
}

# Times are measured by benchmarks, never asserted by tests; the same examples run every time.
hypothesis.settings.register_profile("evenkey", deadline=None, derandomize=True)
hypothesis.settings.load_profile("evenkey")


_CONNECT = bool(os.environ.get("EVENKEY_CONNECT"))
"""Whether the session of tests is one over Spark Connect: ``make connect``."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Over Connect leave out what only a classic session has; its marker says why."""
    for item in items if _CONNECT else ():
        marker = item.get_closest_marker("classic")
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=f"classic sessions only: {marker.args[0]}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip what the library itself says that this version of Spark cannot do."""
    try:
        return (yield)
    except ConfigurationError as error:
        from evenkey.spark.versions import check_sources

        try:
            check_sources()
        except ConfigurationError as needed:
            if str(error) == str(needed):
                pytest.skip(str(needed))
        raise


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One small Spark: 4 task slots, 4 shuffle partitions, and no task gets a second chance."""
    directory = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.local.dir": str(directory / "local"),
        "spark.sql.shuffle.partitions": "4",
        **_CHECKPOINTS,
        "spark.sql.session.timeZone": os.environ.get("EVENKEY_TEST_ZONE", "UTC"),
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    with _over_connect(settings) if _CONNECT else _classic(settings) as small:
        yield small


@contextlib.contextmanager
def _classic(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from evenkey.kafka.connector import connector_settings
    from evenkey.spark.sessions import session

    small = session("local[4]", {**connector_settings(), **settings})
    yield small
    small.stop()


@contextlib.contextmanager
def _over_connect(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Give a client of a server in a process of its own, with the settings of a classic session."""
    from pyspark.sql import SparkSession

    from evenkey.spark.listening import leave_over_connect
    from tests.connect_server import ConnectServer

    with ConnectServer(settings) as server:
        small = SparkSession.builder.remote(server.url).getOrCreate()
        yield small
        leave_over_connect()  # of sessions that were made of this one, too
        small.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real Kafka broker on loopback; a test uses topics of its own."""
    running = start_broker(tmp_path_factory.mktemp("kafka"))
    yield running
    running.stop()
