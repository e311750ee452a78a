"""`balanced`: run the calls of a job that its profile knows by balanced plans."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkey.core.checking import check_path, number
from evenkey.core.errors import ConfigurationError, EvenkeyError, text_of
from evenkey.core.profiles import read_profile
from evenkey.spark.balancing.expected_gain import expected_gain
from evenkey.spark.balancing.planned_calls import files_of, partitions_of, planned_call
from evenkey.spark.balancing.rerouted_calls import ReroutedCalls
from evenkey.spark.balancing.stage_tasks import stage_tasks
from evenkey.spark.balancing.task_numbers import TaskNumbers
from evenkey.spark.intercepted import (
    SQL_JOIN,
    WINDOW,
    Interception,
    WantedNodes,
    describe,
    keeps_order,
    remember_rerouted,
)
from evenkey.spark.sessions.access import check_session
from evenkey.spark.sessions.task_slots import shuffle_partitions, slots_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.profiles import Operation
    from evenkey.spark.intercepted import Described, InterceptedCall

logger = logging.getLogger(__name__)


class _OrderError(ConfigurationError):
    """Spark may keep an order of rows for a call; another call of its fingerprint may differ."""


def balanced(session: SparkSession, profile: str | Path, *, least_gain: float = 1.2) -> Balancing:
    """Give balanced plans to the calls of a job that hot keys slow down; the job is not changed.

    A call is rerouted if the profile has its hot keys and predicts a gain of at least `least_gain`:

    - ``applyInPandas`` and ``applyInArrow`` after ``groupBy`` go to `groupBy`, also after
      ``cogroup``.
    - ``join`` with equalities goes to `join`; in a classic session also such a join in a text of
      ``spark.sql``.
    - A write with ``partitionBy`` after ``repartition`` by the same columns goes to
      `partition_for_write`.
    - Window functions of a classic session, in columns or texts, are computed by Spark itself, on
      rows that a plan has placed.

    Plans are made from the profile, so no key is counted. All other calls are Spark's own: they
    have the same physical plan, and no further job runs. Streams are not rerouted.

    Calls are rerouted from this call on, until the method `stop`, the end of a ``with`` block, or
    the end of Python. Each rerouted call and a summary are logged as INFO, and a profile that is
    out of date as WARNING.

    Parameters
    ----------
    session
        Session of the job, classic or over Connect. Calls of other sessions are Spark's own.
    profile
        File that `record` wrote. If the command ``evenkey diagnose --profile`` added task times,
        predictions are in seconds.
    least_gain
        Least predicted gain: the time with Spark's own placement divided by the time with the plan.

    Returns
    -------
    Balancing
        An object with a method `stop`, which is also a context manager.

    Raises
    ------
    ConfigurationError
        An argument is invalid, or the file is not a profile of this version.

    Notes
    -----
    Results have the columns, types and rows of Spark's own, rows in any order. A profile that is
    out of date costs balance, never rows: a key that the plan does not know goes to the task of its
    hash, as with Spark's own placement. If a call cannot be rerouted, it is Spark's own, and the
    log says why. The job may call Spark from any thread. Spark's methods are restored at the end,
    also if the job fails.

    Examples
    --------
    >>> import tempfile
    >>> profile = tempfile.mkdtemp() + "/profile.json"
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> def last(rows):
    ...     return rows.nlargest(1, "id")
    >>> def job():
    ...     return clicks.groupBy("user").applyInPandas(last, clicks.schema).sort("user").collect()

    The first run is recorded, later runs follow the profile:

    >>> from evenkey.spark import record
    >>> with record(spark, profile):
    ...     found = job()
    >>> with balanced(spark, profile, least_gain=0) as balancing:
    ...     found == job()
    True
    >>> balancing.rerouted
    ['applyInPandas(last) by user']
    """
    check_session(session, "balanced(spark, profile)")
    check_path("profile", profile)
    number("least_gain", least_gain, least=0)
    return Balancing(session, read_profile(Path(profile)).operations, least_gain)


class Balancing:
    """Reroutes the calls of a session by a profile, until `stop` ends it; `balanced` begins it."""

    def __init__(
        self, session: SparkSession, operations: Mapping[str, Operation], least_gain: float
    ) -> None:
        self._session = session
        self._operations = operations
        self._least_gain = least_gain
        self._lock = threading.Lock()
        self._numbers = TaskNumbers()
        self._left: dict[str, str] = {}
        self._rerouted: dict[str, ReroutedCalls] = {}
        self._stopped = False
        self._process = os.getpid()
        self._interception = Interception(
            session, self._handle, self._measure, self._wanted(operations.values())
        )
        atexit.register(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def rerouted(self) -> list[str]:
        """The operations of which calls were rerouted, in the order of their first calls."""
        return [each.name for each in list(self._rerouted.values())]

    @property
    def measured(self) -> list[ReroutedCalls]:
        """The rerouted calls by operation; their tasks are known after `stop`."""
        return list(self._rerouted.values())

    @property
    def summary(self) -> list[str]:
        """One line for each operation of the profile that was called; complete after `stop`."""
        left = [f"left to Spark: {each}" for each in list(self._left.values())]
        return [*(each.line for each in list(self._rerouted.values())), *left]

    def stop(self) -> None:
        """Reroute no more calls, measure those that have run, and log the summary.

        A second call does nothing, nor does a call in a forked process.
        """
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        self._interception.close()
        atexit.unregister(self.stop)
        self._measure()
        self._numbers.release()
        for line in self.summary:
            logger.info("%s", line)
        for each in self._rerouted.values():
            if each.notice:
                logger.warning(
                    "%s: the profile is out of date: %s; record the job again",
                    each.name,
                    each.notice,
                )

    @cached_property
    def _slots(self) -> int:
        return slots_of(self._session)

    def _wanted(self, operations: Iterable[Operation]) -> WantedNodes | None:
        """Return what to look for in plans: nothing if the profile has no operation in a plan."""
        found = [each for each in operations if each.operator.startswith((SQL_JOIN, WINDOW))]
        if not found:
            return None
        known = [(each.reads, " ".join(each.keys)) for each in found]
        windows = any(each.operator.startswith(WINDOW) for each in found)
        return WantedNodes(self._knows, self._leave_in_plan, known, windows=windows)

    def _knows(self, described: Described) -> bool:
        """Return whether a window, or a join of a text, may be rerouted."""
        fingerprint = described.fingerprint
        return fingerprint in self._operations and fingerprint not in self._left

    def _leave_in_plan(self, name: str, error: Exception) -> None:
        self._leave("", error, name)

    def _handle(self, call: InterceptedCall) -> Any:
        if any(frame.isStreaming for frame in call.frames):
            return call.run(*call.frames)
        # The user's own errors are raised here, as without a profile.
        plain = None if call.kind == "write" else call.spark(*call.frames)
        try:
            made = self._made(call, plain)
        except Exception as error:  # noqa: BLE001 - balance must not stop the user's job
            self._leave("", error, call.method)
            made = None
        if made is None:
            return plain if call.is_last and plain is not None else call.run(*call.frames)
        fingerprint, frame = made
        if plain is not None:
            return frame
        try:
            return call.spark(frame)
        finally:
            self._rerouted[fingerprint].end = time.time()

    def _made(self, call: InterceptedCall, plain: DataFrame | None) -> tuple[str, DataFrame] | None:
        """Return fingerprint and result of a call by its plan; None: the call is Spark's own."""
        described = describe(call, plain)
        known = None if described is None else self._operations.get(described.fingerprint)
        if described is None or known is None:
            return None
        fingerprint = described.fingerprint
        if fingerprint in self._left and call.kind != "write":
            return None
        name = f"{known.operator} by {' and '.join(known.keys)}"
        try:
            return fingerprint, self._rerouted_frame(call, plain, known, fingerprint, name)
        except _OrderError as error:
            self._leave("", error, name)
        except ConfigurationError as error:
            self._leave(fingerprint, error, name)
        return None

    def _rerouted_frame(
        self,
        call: InterceptedCall,
        plain: DataFrame | None,
        known: Operation,
        fingerprint: str,
        name: str,
    ) -> DataFrame:
        if not known.inputs:
            message = "the profile has no keys of it; record the job again"
            raise ConfigurationError(message)
        begin = time.time()
        partitions = partitions_of(call, shuffle_partitions(self._session))
        slots = self._slots
        if call.kind == "write":
            tasks = files_of(call, slots)
        else:
            tasks = self._numbers.of(fingerprint, slots, partitions)
        planned = planned_call(call, known, tasks)
        gain = expected_gain(planned, known.tasks, partitions, slots)
        if gain.factor < self._least_gain:
            message = f"the plan is predicted to be {gain.factor:.2f}x faster, which is too little"
            raise ConfigurationError(message)
        frame = planned.make()
        if plain is not None:
            if frame.schema != plain.schema:
                message = "the columns would differ from those of Spark's own result"
                raise ConfigurationError(message)
            if call.kind != "window" and keeps_order(call):
                message = "Spark does not shuffle an input that may be in order, and would keep it"
                raise _OrderError(message)
            remember_rerouted(frame, plain)

        def count() -> None:
            logger.info("%s is rerouted: predicted %.1fx faster", name, gain.factor)
            with self._lock:
                earlier = self._rerouted.get(fingerprint)
                if earlier is None:
                    self._rerouted[fingerprint] = ReroutedCalls(name, planned, gain, slots, begin)
                else:
                    earlier.planned, earlier.gain = planned, gain
                    earlier.count += 1

        if call.when_used is None:
            count()
        else:
            call.when_used(count)
        return frame

    def _leave(self, fingerprint: str, error: Exception, name: str) -> None:
        """Remember and log once why a call is left to Spark."""
        reason = text_of(error).strip().partition("\n")[0] or type(error).__name__
        line = f"{name}: {reason}"
        with self._lock:
            if line in self._left.values():
                return
            self._left[fingerprint or line] = line
        log = logger.info if isinstance(error, EvenkeyError) else logger.warning
        log("left to Spark: %s", line)

    def _measure(self) -> None:
        """Read the tasks of the rerouted calls that have run, before Spark forgets them."""
        with self._lock:
            every = list(self._rerouted.values())
        for each in every:
            found = stage_tasks(self._session, len(each.planned.rows), each.begin, each.end)
            each.found = found or each.found
