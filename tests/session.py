"""The Spark session that tests and examples in docstrings share."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

# Spark's default manager starts several processes (readlink, chmod) for each file of a checkpoint.
# Programs that tests start, also those that are killed, have the manager that users have.
_CHECKPOINTS = {
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming"
    ".checkpointing.FileSystemBasedCheckpointFileManager",
}

# Tests have few rows in many plans. Compiling these would cost a quarter of the processor time, and
# change no result. Tests of promises, clusters and separate programs run compiled plans.
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

# Otherwise each method of a Column asks Java for the session and a setting, and each step of a
# query describes every operator for Spark's UI.
_UNTRACED = {
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
}

CONNECT = bool(os.environ.get("EVENKEY_CONNECT"))
"""Whether tests run over Spark Connect (``make connect``)."""

CASES = int(os.environ.get("EVENKEY_CASES", "30"))
"""How many random cases ``make soak`` draws of windows, and as many of as-of joins."""


def compiling(spark: SparkSession) -> SparkSession:
    """Return another session that compiles its plans, as users' sessions do."""
    own = spark.newSession()
    for name in _INTERPRETED:
        own.conf.unset(name)
    return own


@contextlib.contextmanager
def compiled(*sessions: SparkSession) -> Iterator[None]:
    """Let sessions compile their plans in this block, which pays for millions of rows."""
    for each in sessions:
        for name in _INTERPRETED:
            each.conf.unset(name)
    try:
        yield
    finally:
        for each in sessions:
            for name, value in _INTERPRETED.items():
                each.conf.set(name, value)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start a small Spark: 4 task slots, 4 shuffle partitions, failed tasks are not retried."""
    directory = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.local.dir": str(directory / "local"),
        "spark.sql.shuffle.partitions": "4",
        **_CHECKPOINTS,
        **_INTERPRETED,
        **_UNTRACED,
        "spark.sql.session.timeZone": os.environ.get("EVENKEY_TEST_ZONE", "UTC"),
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    with _over_connect(settings) if CONNECT else _classic(settings) as small:
        yield small


@contextlib.contextmanager
def _classic(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from evenkey.kafka.connector import connector_settings
    from evenkey.spark.sessions.starting import session

    small = session("local[4]", {**connector_settings(), **settings})
    yield small
    small.stop()


@contextlib.contextmanager
def _over_connect(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yield a client of a Connect server in another process, with a classic session's settings."""
    from pyspark.sql import SparkSession

    from evenkey.spark.sessions.query_events import leave_over_connect
    from tests.connect_server import ConnectServer

    with ConnectServer(settings) as server:
        small = SparkSession.builder.remote(server.url).getOrCreate()
        yield small
        leave_over_connect()  # also for sessions made from this one
        small.stop()
