"""A small Spark cluster on this machine, with one executor process per core.

The executors are the locations where static data is cached.
"""

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
_FEW_THREADS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options of executors that are more than the cores: with their own, each would compile and collect
garbage in several threads."""


def local_cluster_master(executors: int | None = None) -> str:
    """Return the master URL of a local cluster whose executors have one slot each.

    Parameters
    ----------
    executors
        Number of executors. None: one for each core.
    """
    return f"local-cluster[{executors or os.cpu_count() or 1},1,{_EXECUTOR_MB}]"


def join_session(
    master: str | None = None, *, executors: int | None = None, kafka: bool = False
) -> SparkSession:
    """Make a new session, whose settings let each slot run where its static data is cached.

    Parameters
    ----------
    master
        Master URL to start Spark with if there is no active session. None: the URL in the variable
        ``SPARK_MASTER``, or a small cluster on this machine.
    executors
        Number of executors of the small cluster. None: one for each core.
    kafka
        Whether the session needs Spark's Kafka connector.
    """
    wanted = master or os.environ.get("SPARK_MASTER") or local_cluster_master(executors)
    settings = {**CLUSTER_SETTINGS, **(connector_settings() if kafka else {})}
    if wanted.startswith("local-cluster"):
        _use_home_of_links()
        # The executors are processes on this machine and use this interpreter's packages.
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(_package_paths())
        if executors is not None:
            settings["spark.executor.extraJavaOptions"] = _FEW_THREADS
    # Python workers live long here, so they do not need evenkey's own daemon, which only makes
    # their start faster.
    settings["spark.python.daemon.module"] = "pyspark.daemon"
    own = session(wanted, settings).newSession()
    own.conf.set("spark.sql.shuffle.partitions", os.cpu_count() or 1)
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own


def _package_paths() -> list[str]:
    """Return the paths where executors find the driver's copy of evenkey."""
    here = str(Path(__file__).parents[3])
    return [here, *filter(None, [os.environ.get("PYTHONPATH")])]


def _use_home_of_links() -> None:
    """Set ``SPARK_HOME`` to a directory of links to pyspark's files.

    The cluster's workers write into ``SPARK_HOME``, and so do not write into pyspark itself.
    """
    if "SPARK_HOME" in os.environ:
        return
    import pyspark

    home = Path(tempfile.mkdtemp(prefix="evenkey-spark-"))
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    atexit.register(_stop, home)


def _stop(home: Path) -> None:
    """Stop Spark, and only then delete its home, from which the cluster starts executors."""
    from py4j.protocol import Py4JNetworkError
    from pyspark.sql import SparkSession

    # If Java has died, the run has reported it, and there is nothing to stop.
    with contextlib.suppress(Py4JNetworkError, ConnectionError):
        active = SparkSession.getActiveSession()
        if active is not None:
            active.stop()
    shutil.rmtree(home, ignore_errors=True)
