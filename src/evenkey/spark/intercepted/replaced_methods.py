"""Replace the methods of PySpark's classes while an interception is open, and restore them after.

The methods of the classic classes and of those of Spark Connect are replaced separately, when the
first interception of a session of the kind is opened. They are restored when the last one is
closed, and in a forked process. Calls of other sessions, and calls by evenkey itself, run Spark's
own methods directly.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from evenkey.spark.intercepted.intercepted_call import InterceptedCall, Repartitioned
from evenkey.spark.intercepted.nodes_in_plans import with_nodes_passed
from evenkey.spark.intercepted.rerouted_windows import filtered, on_spark_windows
from evenkey.spark.sessions.access import is_remote
from evenkey.spark.sessions.starting import session_id, session_owner

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.spark.intercepted.wanted_nodes import WantedNodes

    Handler: TypeAlias = Callable[[InterceptedCall], Any]

_HOME = str(Path(__file__).parents[2]) + os.sep
_COLUMNS = ("select", "selectExpr", "withColumn", "withColumns")
_SETTERS = ("bucketBy", "clusterBy", "format", "mode", "option", "options", "partitionBy", "sortBy")
_WRITES = ("csv", "json", "orc", "parquet", "save", "saveAsTable", "text", "xml")
_lock = threading.RLock()
_open: list[Interception] = []


class Interception:
    """Passes each call of a session that shuffles by key to a handler, until it is closed.

    Calls from all threads of the process are passed. If several interceptions of a session are
    open, the newest one gets a call first; its handler runs `InterceptedCall.run` to pass the call
    to the others.

    Parameters
    ----------
    session
        The session whose calls are passed.
    handler
        Takes the call, and returns what the user's call returns.
    before_stop
        Called when the user stops the session, or another one of its context, before it stops.
    in_plans
        Which windows, and joins in the texts of ``sql``, are passed; None: none. Over Connect, none
        is passed in any case.
    """

    def __init__(
        self,
        session: SparkSession,
        handler: Handler,
        before_stop: Callable[[], object] = lambda: None,
        in_plans: WantedNodes | None = None,
    ) -> None:
        self.in_plans = in_plans
        self.handler = handler
        self.before_stop = before_stop
        self._session = session
        self._id = (session_owner(session), session_id(session))
        with _lock:
            self.methods = _methods_of(session)
            self.methods.replace()
            _open.append(self)

    def is_of(self, session: SparkSession) -> bool:
        """Return whether a session is the one whose calls are passed."""
        if session is self._session:
            return True
        owner, name = self._id
        return session_owner(session) is owner and session_id(session) == name

    def ends_with(self, session: SparkSession) -> bool:
        """Return whether the session ends when another one is stopped."""
        return session_owner(session) is self._id[0]

    def close(self) -> None:
        """Pass no more calls; the last open interception restores the methods."""
        with _lock:
            if self not in _open:
                return
            _open.remove(self)
            if not any(each.methods is self.methods for each in _open):
                self.methods.restore()


def _handle(call: InterceptedCall) -> Any:
    """Pass a call to the open interceptions of its session, the newest one first."""
    session = call.frames[0].sparkSession
    call = on_spark_windows(call, _in_plans(session))
    for each in tuple(_open):
        if each.is_of(session):
            call = replace(call, run=functools.partial(_passed, each.handler, call))
    return call.run(*call.frames)


def _in_plans(session: SparkSession, *, windows: bool = False) -> list[WantedNodes]:
    """Return what the open interceptions of a session want of plans; or those for `windows`."""
    return [
        each.in_plans
        for each in tuple(_open)
        if each.in_plans is not None
        and (each.in_plans.windows or not windows)
        and each.is_of(session)
    ]


def _passed(handler: Handler, call: InterceptedCall, *frames: DataFrame) -> Any:
    same = all(one is other for one, other in zip(frames, call.frames, strict=True))
    before = call.repartitioned if same else None
    return handler(replace(call, frames=frames, repartitioned=before))


def _called_by_evenkey() -> bool:
    """Return whether the function that called the caller of this function is evenkey's own."""
    return sys._getframe(2).f_code.co_filename.startswith(_HOME)  # noqa: SLF001 - no public name


class _Methods:
    """The methods of the DataFrames, groups and writers of one kind of session."""

    def __init__(self, session: SparkSession) -> None:
        frame = session.range(1)
        grouped: Any = frame.groupBy("id")
        self._session, self._is_remote = type(session), is_remote(session)
        self._frame, self._writer = type(frame), type(frame.write)
        self._grouped, self._cogrouped = type(grouped), type(grouped.cogroup(grouped))
        self._replaced: list[tuple[type, str, Any, Any]] = []
        self._groups: WeakKeyDictionary[Any, tuple[DataFrame, tuple[Any, ...]]] = (
            WeakKeyDictionary()
        )
        self._writers: WeakKeyDictionary[Any, _Writer] = WeakKeyDictionary()
        self._repartitioned: WeakKeyDictionary[Any, Repartitioned] = WeakKeyDictionary()

    def replace(self) -> None:
        """Replace the methods, unless they are replaced already; all of them, or none."""
        if self._replaced:
            return
        try:
            self._replace()
        except BaseException:
            self.restore()
            raise

    def _replace(self) -> None:
        self._group_by: Any = self._frame.groupBy
        for name in ("groupBy", "groupby"):
            self._put(self._frame, name, self._remember_group(getattr(self._frame, name)))
        for name in ("applyInPandas", "applyInArrow"):
            self._put(self._grouped, name, self._on_group(getattr(self._grouped, name)))
            self._put(self._cogrouped, name, self._on_cogroup(getattr(self._cogrouped, name)))
        self._put(self._frame, "join", self._on_join(self._frame.join))
        self._put(self._frame, "repartition", self._remember_origin(self._frame.repartition))
        if not self._is_remote:
            self._put(self._session, "sql", self._on_sql(self._session.sql))
            for name in _COLUMNS:
                self._put(self._frame, name, self._on_columns(getattr(self._frame, name)))
            self._put(self._frame, "filter", self._on_filter(self._frame.filter))
        self._put(self._session, "stop", self._on_stop(self._session.stop))
        self._write: Any = inspect.getattr_static(self._frame, "write")
        self._put(self._frame, "write", property(self._remember_writer, doc=self._write.__doc__))
        for name in _SETTERS:
            if hasattr(self._writer, name):
                self._put(self._writer, name, self._on_setting(getattr(self._writer, name)))
        for name in _WRITES:
            if hasattr(self._writer, name):
                self._put(self._writer, name, self._on_write(getattr(self._writer, name)))

    def restore(self) -> None:
        """Restore the methods; one that other code has replaced since stays, and calls Spark's."""
        for kind, name, before, ours in self._replaced:
            if vars(kind).get(name) is not ours:
                continue
            if before is None:
                delattr(kind, name)
            else:
                setattr(kind, name, before)
        self._replaced = []

    def _put(self, kind: type, name: str, ours: Any) -> None:
        # A method that the class inherits is restored by deleting the replacement.
        self._replaced.append((kind, name, vars(kind).get(name), ours))
        setattr(kind, name, ours)

    def _remember_group(self, original: Any) -> Any:
        @functools.wraps(original)
        def group_by(frame: DataFrame, *keys: Any) -> Any:
            grouped = original(frame, *keys)
            if not _called_by_evenkey():
                self._groups[grouped] = (frame, keys)
            return grouped

        return group_by

    def _on_group(self, original: Any) -> Any:
        @functools.wraps(original)
        def apply(grouped: Any, *arguments: Any, **named: Any) -> Any:
            known = self._groups.get(grouped)
            if known is None:
                return original(grouped, *arguments, **named)
            frame, keys = known

            def run(other: DataFrame) -> Any:
                return original(self._group_by(other, *keys), *arguments, **named)

            name = original.__name__
            return _handle(
                InterceptedCall("group", name, (frame,), (keys,), "", run, run, arguments, named)
            )

        return apply

    def _on_cogroup(self, original: Any) -> Any:
        @functools.wraps(original)
        def apply(both: Any, *arguments: Any, **named: Any) -> Any:
            known = [self._groups.get(each) for each in (both._gd1, both._gd2)]  # noqa: SLF001
            if known[0] is None or known[1] is None:
                return original(both, *arguments, **named)
            (first, keys), (second, others) = known[0], known[1]

            def run(left: DataFrame, right: DataFrame) -> Any:
                grouped = self._group_by(left, *keys).cogroup(self._group_by(right, *others))
                return original(grouped, *arguments, **named)

            name, frames, by = original.__name__, (first, second), (keys, others)
            return _handle(
                InterceptedCall("cogroup", name, frames, by, "", run, run, arguments, named)
            )

        return apply

    def _on_join(self, original: Any) -> Any:
        @functools.wraps(original)
        def join(left: DataFrame, other: DataFrame, on: Any = None, how: Any = None) -> Any:
            if _called_by_evenkey():
                return original(left, other, on, how)

            def run(first: DataFrame, second: DataFrame) -> Any:
                return original(first, second, on, how)

            name, frames = how or "inner", (left, other)
            return _handle(InterceptedCall("join", "join", frames, (on,), name, run, run))

        return join

    def _remember_origin(self, original: Any) -> Any:
        @functools.wraps(original)
        def repartition(frame: DataFrame, *arguments: Any, **named: Any) -> Any:
            result = original(frame, *arguments, **named)
            if arguments and not named and not _called_by_evenkey():
                self._repartitioned[result] = Repartitioned.of(frame, arguments)
            return result

        return repartition

    @staticmethod
    def _on_sql(original: Any) -> Any:
        @functools.wraps(original)
        def sql(session: SparkSession, *arguments: Any, **named: Any) -> DataFrame:
            plain: DataFrame = original(session, *arguments, **named)
            every = [] if _called_by_evenkey() else _in_plans(session)
            return with_nodes_passed(plain, _handle, every) if every else plain

        return sql

    @staticmethod
    def _on_columns(original: Any) -> Any:
        @functools.wraps(original)
        def columns(frame: DataFrame, *arguments: Any, **named: Any) -> DataFrame:
            plain: DataFrame = original(frame, *arguments, **named)
            every = [] if _called_by_evenkey() else _in_plans(frame.sparkSession, windows=True)
            return with_nodes_passed(plain, _handle, every, frame) if every else plain

        return columns

    @staticmethod
    def _on_filter(original: Any) -> Any:
        @functools.wraps(original)
        def filter_rows(frame: DataFrame, *arguments: Any, **named: Any) -> DataFrame:
            plain: DataFrame = original(frame, *arguments, **named)
            every = [] if _called_by_evenkey() else _in_plans(frame.sparkSession, windows=True)
            return filtered(plain, every) if every else plain

        return filter_rows

    @staticmethod
    def _on_stop(original: Any) -> Any:
        @functools.wraps(original)
        def stop(session: SparkSession) -> None:
            for each in tuple(_open):
                if each.ends_with(session):
                    each.before_stop()
            original(session)

        return stop

    def _remember_writer(self, frame: DataFrame) -> Any:
        writer = self._write.fget(frame)
        if not _called_by_evenkey():
            self._writers[writer] = _Writer(frame)
        return writer

    def _on_setting(self, original: Any) -> Any:
        @functools.wraps(original)
        def setting(writer: Any, *arguments: Any, **named: Any) -> Any:
            result = original(writer, *arguments, **named)
            known = self._writers.get(writer)
            if known is not None:
                known.settings.append((original, arguments, named))
            return result

        return setting

    def _on_write(self, original: Any) -> Any:
        @functools.wraps(original)
        def write(writer: Any, *arguments: Any, **named: Any) -> Any:
            known = self._writers.get(writer)
            given = inspect.signature(original).bind(writer, *arguments, **named).arguments
            by = None if known is None else known.partitioned_by(given.get("partitionBy"))
            if known is None or not by:
                return original(writer, *arguments, **named)
            settings = tuple(known.settings)

            def run(frame: DataFrame) -> Any:
                fresh = self._write.fget(frame)
                for set_one, values, named_values in settings:
                    set_one(fresh, *values, **named_values)
                return original(fresh, *arguments, **named)

            name, frames = original.__name__, (known.frame,)
            before = self._repartitioned.get(known.frame)
            return _handle(
                InterceptedCall("write", name, frames, (by,), "", run, run, repartitioned=before)
            )

        return write


class _Writer:
    """A writer's DataFrame, and its settings: methods with their arguments."""

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame
        self.settings: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def partitioned_by(self, argument: Any) -> tuple[str, ...]:
        """Return the columns of ``partitionBy``, which is an argument or a setting."""
        chosen = [argument] if argument else []
        if not chosen:
            calls = [each for each in self.settings if each[0].__name__ == "partitionBy"]
            chosen = list(calls[-1][1]) if calls else []
        if len(chosen) == 1 and isinstance(chosen[0], list | tuple):
            chosen = list(chosen[0])
        return tuple(chosen)


_methods: dict[bool, _Methods] = {}
"""The methods of both kinds of sessions, by whether they are those of Spark Connect."""


def _methods_of(session: SparkSession) -> _Methods:
    remote = is_remote(session)
    if remote not in _methods:
        _methods[remote] = _Methods(session)
    return _methods[remote]


def _restore_all() -> None:
    _open.clear()
    for each in _methods.values():
        each.restore()


os.register_at_fork(after_in_child=_restore_all)
