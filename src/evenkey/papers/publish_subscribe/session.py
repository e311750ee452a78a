"""A small cluster on this machine: one executor process per core, so that slots have locations."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.joins import CLUSTER_SETTINGS
from evenkey.kafka import connector_settings
from evenkey.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXECUTOR_MB = 1024


def local_cluster_master() -> str:
    """Master URL of this machine with an executor process of one slot for each core."""
    return f"local-cluster[{os.cpu_count() or 1},1,{_EXECUTOR_MB}]"


def join_session(master: str | None = None, *, kafka: bool = False) -> SparkSession:
    """A new session, whose settings let slots stay where their static data is.

    Parameters
    ----------
    master
        Where to start it if there is no active session; None takes ``SPARK_MASTER``, or
        else a small cluster on this machine.
    kafka
        Whether it needs Spark's Kafka connector.
    """
    wanted = master or os.environ.get("SPARK_MASTER") or local_cluster_master()
    settings = {**CLUSTER_SETTINGS, **(connector_settings() if kafka else {})}
    if wanted.startswith("local-cluster"):
        _use_home_of_links()
        # Its executors are processes of this machine, with this interpreter's packages.
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(_package_paths())
    # Workers live long and need nothing of what evenkey's own daemon prepares.
    settings["spark.python.daemon.module"] = "pyspark.daemon"
    own = session(wanted, settings).newSession()
    own.conf.set("spark.sql.shuffle.partitions", os.cpu_count() or 1)
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own


def _package_paths() -> list[str]:
    """Where executors find the package that the driver runs."""
    here = str(Path(__file__).parents[3])
    return [here, *filter(None, [os.environ.get("PYTHONPATH")])]


def _use_home_of_links() -> None:
    """Let Spark's workers write beside links to Spark, not into the installed package."""
    if "SPARK_HOME" in os.environ:
        return
    import pyspark

    home = Path(tempfile.mkdtemp(prefix="evenkey-spark-"))
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    atexit.register(_stop, home)


def _stop(home: Path) -> None:
    """Stop Spark before its home is deleted, or its workers start executors without one."""
    from py4j.protocol import Py4JNetworkError
    from pyspark.sql import SparkSession

    # A Java that has died, as its program has reported, is not there to be stopped.
    with contextlib.suppress(Py4JNetworkError, ConnectionError):
        active = SparkSession.getActiveSession()
        if active is not None:
            active.stop()
    shutil.rmtree(home, ignore_errors=True)
