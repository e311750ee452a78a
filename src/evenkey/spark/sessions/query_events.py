"""Events of a session's queries: the metrics that they measure, and their ends.

Spark keeps a listener, and the threads that call it, until it is removed. So evenkey adds one
listener per session for all routed streams. It holds no state of a query; this is found by the
query's id or by the name of its metric.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming import StreamingQueryListener

from evenkey.spark.sessions.access import is_remote
from evenkey.spark.sessions.starting import (
    is_context,
    remove_temporary_of,
    session_id,
    session_owner,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    Receive: TypeAlias = Callable[[SparkSession | None, str, Any, Any], None]

_listening: weakref.WeakKeyDictionary[object, dict[str, _Listener]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()
_logger = logging.getLogger(__name__)
_PATIENCE_MS = 5000
_OTHER_STATES = "SCHEMA_NOT_COMPATIBLE"
"""In the names of Spark's errors for states that it cannot read as those of the query."""


def listen(session: SparkSession, *, metrics: dict[str, Receive] | None = None) -> None:
    """Listen to a session's queries; when a query ends, its temporary tables are deleted.

    Parameters
    ----------
    session
        The session of the queries.
    metrics
        Functions by the beginning of a metric's name (as passed to `DataFrame.observe`). Each takes
        the session (None if it was garbage-collected), the name and values of the metric, and the
        progress of its epoch. Over Connect null values are missing.

    Notes
    -----
    The functions stay as long as the session, so always pass the same ones, such as functions of a
    module. Spark's threads call them soon after the epoch or the query, one call at a time per
    session.
    """
    owner = session_owner(session)
    with _lock:
        ours = _listening.setdefault(owner, {})
        listener = ours.get(session_id(session))
        if listener is None:
            listener = _Listener(session)
            session.streams.addListener(listener)
            ours[session_id(session)] = listener
            if is_remote(session):
                _leave_at_the_end()
        listener.metrics.update(metrics or {})


class _Listener(StreamingQueryListener):
    def __init__(self, session: SparkSession) -> None:
        self._session = weakref.ref(session)
        # Over Connect the manager would keep its session, which is the owner.
        self._manager = None if is_remote(session) else session.streams
        self.metrics: dict[str, Receive] = {}

    def _set_spark_session(self, session: SparkSession) -> None:
        """Spark gives its listeners the session; this one would keep it when it has stopped."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        session = self._session()
        for name, row in event.progress.observedMetrics.items():
            for beginning, receive in list(self.metrics.items()):
                if name.startswith(beginning):
                    # Over Connect an error here would end all listeners of the client.
                    try:
                        receive(session, name, row.asDict(recursive=True), event.progress)
                    except Exception:
                        _logger.exception("what was measured as %s in an epoch is lost", name)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        if _OTHER_STATES in (event.errorClassOnException or event.exception or ""):
            _logger.error(
                "query %s: the states in its checkpoint are of another type than those of this "
                "program, as by another aggregator, key or window: go on with the previous ones, "
                "or start with a new checkpoint; leave "
                "spark.sql.streaming.stateStore.stateSchemaCheck as it is",
                event.id,
            )
        with contextlib.suppress(RuntimeError):  # a program that ends cannot run a task any more
            remove_temporary_of(self._session(), str(event.id))
        if self._manager is not None:
            _end_idle_threads()

    def leave(self) -> None:
        """Hear no more."""
        session = self._session()
        manager = session.streams if self._manager is None and session else self._manager
        if manager is not None:
            manager.removeListener(self)


@atexit.register
def _leave() -> None:
    """Hear no more of anything: Spark would call a process that is ending, and report its trouble.

    What it is about to report, it reports before this ends.
    """
    context = _context()
    if context is None or not _listening:
        return
    from py4j.protocol import Py4JError

    with contextlib.suppress(Py4JError, OSError):  # its sessions, or all of Java, may have ended
        for ours in list(_listening.values()):
            for listener in ours.values():
                listener.leave()
        context._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE_MS)  # noqa: SLF001 - as above


def leave_over_connect() -> None:
    """Hear no more of anything over Connect, and wait for what is being reported."""
    for owner, ours in list(_listening.items()):
        if not is_context(owner):
            _listening.pop(owner, None)
            with warnings.catch_warnings(action="ignore"):  # the server may be gone
                for listener in ours.values():
                    listener.leave()


@functools.cache
def _leave_at_the_end() -> None:
    """Let a program over Connect end though it did not stop its session.

    PySpark hears of its queries in a thread for which Python waits, before it asks what is to be
    done at the exit, as long as there is a listener.
    """

    def wait() -> None:
        threading.main_thread().join()
        leave_over_connect()

    threading.Thread(target=wait, daemon=True).start()


def _context() -> SparkContext | None:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001 - it has no other name
    return None if context is None or context._jsc is None else context  # noqa: SLF001 - the same


def _end_idle_threads() -> None:
    """End threads that served callbacks of the JVM's threads, and served none for a while.

    Spark calls a listener of Python's from each query's own thread once, and Py4J keeps the
    connection, with a thread of Python's at its end, when that thread of the JVM is long gone.
    Its own clean-up, which it does not run in Spark, closes those that were not used since the
    clean-up before; a thread of the JVM that calls once more gets another.
    """
    from py4j.java_gateway import JavaObject  # over Connect there need be none
    from py4j.protocol import Py4JError

    context = _context()
    gateway = None if context is None else context._gateway  # noqa: SLF001 - no other name
    if gateway is None:
        return
    with contextlib.suppress(Py4JError):  # then threads stay, as they do without this
        server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)  # noqa: SLF001 - the same
        server.getCallbackClient().periodicCleanup()
