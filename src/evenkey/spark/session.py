"""The Spark session that evenkey runs on."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from typing import TYPE_CHECKING

from evenkey.spark.gateway import keep_quiet, log_level, start_java
from evenkey.spark.java import ensure_java

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__all__ = ["local_master", "session", "temporary_directory"]

_SETTINGS: dict[str, str] = {
    # Deep plans, and a stop while Spark searches its own stack for interruptions.
    "spark.driver.extraJavaOptions": "-Xss4m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_DRIVER_MEMORY = "2g"


def local_master(slots: int) -> str:
    """Master URL of this machine with so many task slots, and retries, which it lacks by default.

    Examples
    --------
    >>> local_master(8)
    'local[8,4]'
    """
    return f"local[{slots},4]"


def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Give the active session, or start one with settings that streams of evenkey like.

    Parameters
    ----------
    master
        Where to start it; None takes the active session, or else ``SPARK_MASTER``, or
        else this machine with a slot a core.
    settings
        Spark settings on top of evenkey's own.

    Raises
    ------
    ConfigurationError
        There is no Java to run Spark on.
    RunError
        It ended before it was ready.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    ensure_java()
    # Executors must run the very interpreter of the driver, or they lack its packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master is None:
        master = os.environ.get("SPARK_MASTER") or local_master(os.cpu_count() or 1)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    every = {
        **_SETTINGS,
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY") or _DRIVER_MEMORY,
        "spark.log.level": log_level(),
        "spark.master": master,
        "spark.app.name": "evenkey",
        **(settings or {}),
    }
    if master.startswith("local"):
        # Only here is it sure that whoever runs the daemon has evenkey.
        every.setdefault("spark.python.daemon.module", "evenkey.spark.daemon")
    start_java(every)
    builder = SparkSession.builder
    for name, value in every.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    keep_quiet(started.sparkContext)
    return started


def temporary_directory(session: SparkSession, purpose: str) -> str:
    """Make a directory that lives as long as a session."""
    directory = tempfile.mkdtemp(prefix=f"evenkey-{purpose}-")
    weakref.finalize(session, shutil.rmtree, directory, ignore_errors=True)
    return directory
