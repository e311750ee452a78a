"""React to events of a session's queries: the metrics of an epoch, and the end of a query.

Spark keeps a listener, and the threads that call it, until the listener is removed. So evenkey adds
one listener per session, for all routed streams. The listener holds only which queries run:
functions find the state of a query by the query's id or by the name of the metric.
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
_KILLED_WITHIN = 5.0
"""Seconds after which Spark has killed the tasks of a query that ended; by default it gives a task
two seconds."""
_OTHER_STATES = "SCHEMA_NOT_COMPATIBLE"
"""Part of the names of Spark's errors for states whose types differ from the query's."""


def listen(session: SparkSession, *, metrics: dict[str, Receive] | None = None) -> None:
    """Listen to a session's queries; when a query ends, its temporary tables are deleted.

    Parameters
    ----------
    session
        The session of the queries.
    metrics
        Functions to call. The keys of the dict are beginnings of metrics' names (as passed to
        `DataFrame.observe`). The arguments of a function are the session (None if it was
        garbage-collected), the name and values of the metric, and the progress of the epoch. Over
        Connect, null values are missing. None: no functions.

    Notes
    -----
    The functions stay registered as long as the session lives, so pass the same functions in every
    call, such as functions of a module. Spark's threads call a function soon after an epoch or the
    query has ended, one call at a time per session.
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
        # Over Connect the manager refers to its session, and the listener would keep both alive.
        self._manager = None if is_remote(session) else session.streams
        self.metrics: dict[str, Receive] = {}
        self._running: set[tuple[str, str]] = set()

    def _set_spark_session(self, session: SparkSession) -> None:
        """Ignore the session that Spark passes: this listener would keep the session alive."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        self._running.add((str(event.id), str(event.runId)))

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        session = self._session()
        for name, row in event.progress.observedMetrics.items():
            for beginning, receive in list(self.metrics.items()):
                if name.startswith(beginning):
                    # Over Connect an error here would stop all listeners of the client.
                    try:
                        receive(session, name, row.asDict(recursive=True), event.progress)
                    except Exception:
                        _logger.exception("the values of metric %s of an epoch are lost", name)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - the name is Spark's
        if _OTHER_STATES in (event.errorClassOnException or event.exception or ""):
            _logger.error(
                "query %s: the states in its checkpoint are of another type than the states of "
                "this program, for example because the aggregator, key or window changed: use the "
                "previous aggregator, key and window, or start with a new checkpoint; do not "
                "change spark.sql.streaming.stateStore.stateSchemaCheck",
                event.id,
            )
        query = str(event.id)
        self._running.discard((query, str(event.runId)))
        self._remove_tables(query)
        if self._manager is not None:
            # A task that Spark has not killed yet may write a file after its directory is deleted.
            again = threading.Timer(_KILLED_WITHIN, self._remove_tables, (query,))
            again.daemon = True
            with contextlib.suppress(RuntimeError):  # a program that is ending starts no thread
                again.start()
            _end_idle_threads()

    def _remove_tables(self, query: str) -> None:
        """Delete the temporary tables of a query that has ended and has not started again."""
        if query in {each for each, _ in self._running.copy()}:
            return
        with contextlib.suppress(RuntimeError):  # a program that is ending can run no more tasks
            remove_temporary_of(self._session(), query)

    def leave(self) -> None:
        """Remove this listener from its session."""
        session = self._session()
        manager = session.streams if self._manager is None and session else self._manager
        if manager is not None:
            manager.removeListener(self)


@atexit.register
def _leave() -> None:
    """Remove all listeners at exit, so that Spark does not call an ending process and log errors.

    This waits until Spark has delivered the events that have already happened.
    """
    context = _context()
    if context is None or not _listening:
        return
    from py4j.protocol import Py4JError

    with contextlib.suppress(Py4JError, OSError):  # its sessions, or all of Java, may have ended
        for ours in list(_listening.values()):
            for listener in ours.values():
                listener.leave()
        wait_for_events()


def wait_for_events() -> None:
    """Wait until classic sessions have delivered the events that have already happened.

    Raises
    ------
    Py4JError
        Events were not delivered within five seconds, or Java has ended.
    """
    context = _context()
    if context is not None:
        context._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE_MS)  # noqa: SLF001 - no public name


def leave_over_connect() -> None:
    """Remove all listeners of Connect sessions, and wait for calls that are running."""
    for owner, ours in list(_listening.items()):
        if not is_context(owner):
            _listening.pop(owner, None)
            with warnings.catch_warnings(action="ignore"):  # the server may be gone
                for listener in ours.values():
                    listener.leave()


@functools.cache
def _leave_at_the_end() -> None:
    """Let a program over Connect end although it has not stopped its session.

    While there is a listener, PySpark receives events in a thread that is not a daemon thread. When
    a program ends, Python waits for this thread before it calls exit handlers. So an exit handler
    would be too late to remove the listener.
    """

    def wait() -> None:
        threading.main_thread().join()
        leave_over_connect()

    threading.Thread(target=wait, daemon=True).start()


def _context() -> SparkContext | None:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001 - there is no public name
    return None if context is None or context._jsc is None else context  # noqa: SLF001 - the same


def _end_idle_threads() -> None:
    """End Python threads that wait for calls from JVM threads which no longer call.

    Each query calls the Python listener from its own JVM thread. For each JVM thread, Py4J keeps a
    connection and a Python thread that waits for calls, also after the JVM thread has ended. The
    clean-up of Py4J closes connections that were not used since the previous clean-up, but Spark
    never runs this clean-up. A JVM thread that calls again gets a new connection.
    """
    from py4j.java_gateway import JavaObject  # a Connect client may have no Py4J
    from py4j.protocol import Py4JError

    context = _context()
    gateway = None if context is None else context._gateway  # noqa: SLF001 - no public name
    if gateway is None:
        return
    with contextlib.suppress(Py4JError):  # on failure the threads stay, as without this function
        server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)  # noqa: SLF001 - the same
        server.getCallbackClient().periodicCleanup()
