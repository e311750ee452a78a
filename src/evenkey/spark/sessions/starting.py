"""Start the Spark session that evenkey runs on, and manage its temporary directories."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
import tempfile
import threading
import uuid
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.spark.sessions.access import at_state, is_remote
from evenkey.spark.sessions.java_home import ensure_java
from evenkey.spark.sessions.java_process import keep_quiet, log_level, start_java
from evenkey.spark.sessions.versions import SAFE_RETRIES
from evenkey.spark.sessions.worker_python import is_own_python

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

TABLES = "tables"
"""The `purpose` of temporary directories that hold the routing tables of queries."""

_homes: weakref.WeakKeyDictionary[object, str] = weakref.WeakKeyDictionary()
_lock = threading.Lock()

_SETTINGS: dict[str, str] = {
    # A large stack for each thread: deep query plans need it, and so do stops of queries, in which
    # Spark searches the stack for interruptions.
    "spark.driver.extraJavaOptions": "-Xss4m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    **dict.fromkeys(SAFE_RETRIES, "true"),
}
_DRIVER_MEMORY = "2g"


def local_master(slots: int) -> str:
    """Return the URL of a local master with task slots; failed tasks are retried.

    Spark's own default for a local master is no retries.

    Examples
    --------
    >>> local_master(8)
    'local[8,4]'
    """
    return f"local[{slots},4]"


def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return the active session, or start one with settings that suit evenkey's streams.

    Parameters
    ----------
    master
        Master of a new session; None: the value of the environment variable ``SPARK_MASTER``, or if
        that is not set, this machine with one slot per core.
    settings
        Spark settings of a new session, which override evenkey's own settings.

    Raises
    ------
    ConfigurationError
        There is no Java to run Spark on.
    RunError
        Spark's Java process ended before it was ready.

    Examples
    --------
    >>> session().version == spark.version  # the active one
    True
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    ensure_java()
    # Workers must run the same interpreter as the driver, or they lack its packages.
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
        if is_own_python(os.environ["PYSPARK_PYTHON"]):  # the daemon needs evenkey
            every.setdefault("spark.python.daemon.module", "evenkey.spark.sessions.daemon")
        # Over TCP each Python task waits 40 ms, because the kernel delays an acknowledgement. Not
        # on other masters: an executor's directory may be too long for the path of a socket.
        every.setdefault("spark.python.unix.domain.socket.enabled", "true")
    start_java(every)
    builder = SparkSession.builder
    for name, value in every.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    keep_quiet(started.sparkContext)
    return started


def session_owner(session: SparkSession) -> object:
    """Return the object that lives as long as a session: its Spark context.

    The session object itself does not, because a session may have several Python objects. Over
    Connect there is no Spark context, so this returns the session object.
    """
    return session if is_remote(session) else session.sparkContext


def is_context(owner: object) -> TypeGuard[SparkContext]:
    """Return whether the owner of a session is a Spark context; the session is then classic."""
    return hasattr(owner, "_jsc")


def session_id(session: SparkSession) -> str:
    """Return an id that distinguishes sessions of the same owner."""
    if is_remote(session):
        return ""
    return str(session._jsparkSession.sessionUUID())  # noqa: SLF001 - Python has no name of it


def temporary_directory(session: SparkSession, purpose: str) -> str:
    """Return the name of a new directory for a session; it is created when it is first written.

    The directory is on the driver's machine, or over Connect on the machine of an executor. Routing
    tables (purpose ``tables``) of a query are deleted when the query ends, see
    `remove_temporary_of`. All other directories are deleted after the session has stopped, at the
    latest when the process ends. Over Connect, all other directories stay until the system cleans
    up its temporary files.
    """
    owner = session_owner(session)
    with _lock:
        for other, directory in list(_homes.items()):
            if _has_stopped(other):
                if is_context(other):
                    shutil.rmtree(directory, ignore_errors=True)
                del _homes[other]
        if owner not in _homes:
            _homes[owner] = at_state(session, _make_home)
            if not is_remote(session):
                weakref.finalize(owner, shutil.rmtree, _homes[owner], ignore_errors=True)
        return str(Path(_homes[owner]) / f"{purpose}-{uuid.uuid4().hex}")


def _make_home() -> str:
    return tempfile.mkdtemp(prefix="evenkey-")


def remove_temporary_of(session: SparkSession | None, query: str) -> None:
    """Delete the temporary routing tables of a query that has ended.

    `session` is None if it was garbage-collected. Over Connect, the tables of such a session cannot
    be reached, so they stay.
    """
    with _lock:
        homes = dict(_homes)
    if session is not None and is_remote(session):
        if session in homes:
            at_state(session, functools.partial(_remove_tables, homes[session], query))
        return
    for owner, home in homes.items():
        if is_context(owner):
            _remove_tables(home, query)


def _remove_tables(home: str, query: str) -> None:
    for directory in Path(home).glob(f"{TABLES}-*/{query}"):
        shutil.rmtree(directory, ignore_errors=True)
        with contextlib.suppress(OSError):  # another query of the same frame still runs
            directory.parent.rmdir()


def _has_stopped(owner: object) -> bool:
    if is_context(owner):
        return owner._jsc is None  # noqa: SLF001 - nothing else shows that a context has stopped
    return bool(getattr(owner, "is_stopped", False))
