"""`record`: write a profile of a job: its operations, their hot keys, and how often they ran."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from evenkey.core.checking import check_one_of, check_path, shown
from evenkey.core.errors import ConfigurationError, EvenkeyError, text_of
from evenkey.core.profiles import (
    MARK,
    Operation,
    Profile,
    SampledRows,
    check_writable,
    read_profile,
    update_profile,
)
from evenkey.spark.intercepted import WINDOW, Interception, WantedNodes, describe
from evenkey.spark.plans.observed_rows import values_of
from evenkey.spark.recording.keyed_inputs import keyed_inputs
from evenkey.spark.recording.observed_keys import observe_keys, sampled_rows
from evenkey.spark.sessions.access import check_session, is_remote
from evenkey.spark.sessions.query_events import wait_for_events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from pyspark.sql import DataFrame, Observation, SparkSession

    from evenkey.spark.intercepted import Described, InterceptedCall

logger = logging.getLogger(__name__)

Keys = Literal["hashed", "clear"]
_numbers = itertools.count()
"""Numbers of observations: two in one query must have different names."""


def record(
    session: SparkSession,
    path: str | Path,
    *,
    keys: Literal["hashed", "clear"] = "hashed",
    joins: bool = True,
) -> Recording:
    """Record a profile of a job while the job runs: the operations that shuffle by key.

    These calls on batches are recorded:

    - ``applyInPandas`` and ``applyInArrow`` after ``groupBy``, also after ``cogroup``
    - ``join`` with equalities; in a classic session also such a join in a text of ``spark.sql``
    - window functions of a classic session
    - writes with ``partitionBy``

    Spark counts the hot keys of their inputs in a sample while it computes the job; no further job
    runs. Results do not change. The command ``evenkey diagnose --profile`` adds the rows and
    seconds of tasks.

    The recording begins with this call. It ends with its method `stop`, at the end of a ``with``
    block, or when Python ends, and is then added to the file.

    Parameters
    ----------
    session
        Session of the job, classic or over Connect. Other sessions are not recorded.
    path
        File of the profile, in a directory that exists. If the file exists, the recording is added
        to it. Only its owner may read it.
    keys
        ``hashed``: the profile has hashes of keys, which is all that plans need. ``clear``: it has
        the first 200 characters of each key too.
    joins
        Whether to count the keys of joins. While Spark counts them, it does not move filters from
        above a join to its inputs, and does not skip partitions of one side by rows of the other.
        False: joins are recorded without keys.

    Returns
    -------
    Recording
        An object with a method `stop`, which is also a context manager.

    Raises
    ------
    ConfigurationError
        An argument is invalid, or the file is not a profile of this version.

    Notes
    -----
    A key is hot if it has at least 0.2 % of the rows of its input. Counts of partitions of up to
    10,000 rows are exact, as long as there are at most 1,500 keys. Counts of larger partitions are
    estimates, from these rows of the partition:

    - all of the first 10,000 rows
    - up to row 160,000, every 16th row on average
    - up to row 2,560,000, every 256th
    - after that, every 4,096th

    The rows of an input that is computed several times are counted when it is first computed.

    Examples
    --------
    >>> import tempfile
    >>> profile = tempfile.mkdtemp() + "/profile.json"
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> def last(rows):
    ...     return rows.nlargest(1, "id")
    >>> with record(spark, profile, keys="clear"):
    ...     found = clicks.groupBy("user").applyInPandas(last, clicks.schema).collect()
    >>> import json
    >>> from pathlib import Path
    >>> (operation,) = json.loads(Path(profile).read_text())["operations"].values()
    >>> operation["operator"], operation["keys"]
    ('applyInPandas(last)', ['user'])
    >>> [(each["key"], each["rows"]) for each in operation["inputs"][0]["keys"]]
    [('{"k0":"ann"}', 80.0), ('{"k0":"bob"}', 20.0)]
    """
    check_session(session, "record(spark, path)")
    check_path("path", path)
    check_one_of("keys", keys, get_args(Keys))
    check_one_of("joins", joins, (True, False))
    # A program may change its working directory while it runs.
    return Recording(session, Path(path).absolute(), clear=keys == "clear", joins=joins)


class _Sampled(NamedTuple):
    fingerprint: str
    place: int
    observation: Observation


class Recording:
    """A recording that runs, until `stop` ends it and adds it to its file; `record` begins it."""

    def __init__(self, session: SparkSession, path: Path, *, clear: bool, joins: bool) -> None:
        if path.exists():
            read_profile(path)
        elif not path.parent.is_dir():
            message = f"path = {str(path)!r}: its directory does not exist; create it first"
            raise ConfigurationError(message)
        check_writable(path)
        self._path = path
        self._clear = clear
        self._joins = joins
        self._session = session
        self._remote = is_remote(session)
        self._operations: dict[str, Described] = {}
        self._sampled: list[_Sampled] = []
        self._unsampled: set[str] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._process = os.getpid()
        self._interception = Interception(
            session, self._handle, in_plans=WantedNodes(self._wants, self._log_unsampled)
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

    def stop(self) -> None:
        """End the recording, and add it to the file.

        A second call does nothing, nor does a call in a forked process.

        Raises
        ------
        ConfigurationError
            The file cannot be written.
        """
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        self._interception.close()
        atexit.unregister(self.stop)
        at = time.time()
        inputs = self._inputs()
        operations = {
            name: Operation(each.operator, each.keys, each.reads, at, 1.0, inputs.get(name, ()))
            for name, each in self._operations.items()
        }
        update_profile(self._path, lambda before: before.merged(Profile(operations), at))
        logger.info(
            "recorded %d operations, %d of them with keys: %s",
            len(operations),
            len(inputs),
            self._path,
        )

    def _handle(self, call: InterceptedCall) -> Any:
        if any(frame.isStreaming for frame in call.frames):
            return call.run(*call.frames)
        lazy = call.kind != "write"
        # The user's own errors are raised here, as without a recording.
        plain = call.spark(*call.frames) if lazy else None
        try:
            frames = self._observed(call, plain)
            if lazy:
                return call.run(*frames)
        except Exception as error:  # noqa: BLE001 - a recording must not stop the user's job
            self._log_unsampled(call.method, error)
            frames = call.frames
        return call.run(*frames)

    def _observed(self, call: InterceptedCall, plain: DataFrame | None) -> Sequence[DataFrame]:
        """Return the inputs of a call with their keys observed, and remember the operation."""
        described = describe(call, plain)
        if described is None:
            return call.frames
        self._remember(described)
        if call.kind == "join" and not self._joins:
            return call.frames
        found = []
        for place, keyed in enumerate(keyed_inputs(call)):
            name = f"{MARK}{described.fingerprint}-{place}-{next(_numbers)}"
            observed = observe_keys(keyed, name, clear=self._clear)
            self._sampled.append(_Sampled(described.fingerprint, place, observed.observation))
            found.append(observed.frame)
        return found

    def _wants(self, described: Described) -> bool:
        # A window that Spark computes without a shuffle is no operation of the profile.
        if not described.operator.startswith(WINDOW):
            self._remember(described)
        return True

    def _remember(self, described: Described) -> None:
        self._operations[described.fingerprint] = described

    def _log_unsampled(self, name: str, error: Exception) -> None:
        """Log once for each reason that a call runs without being sampled."""
        reason = shown(text_of(error).strip().partition("\n")[0]) or type(error).__name__
        text = f"{name}: its keys are not recorded: {reason}"
        if text not in self._unsampled:
            self._unsampled.add(text)
            log = logger.info if isinstance(error, EvenkeyError) else logger.warning
            log("%s", text)

    def _inputs(self) -> Mapping[str, tuple[SampledRows, ...]]:
        """Return the sampled rows of each operation that ran, all calls of it together."""
        if not self._remote:
            from py4j.protocol import Py4JError  # a Connect client may have no Py4J

            with contextlib.suppress(Py4JError, OSError):
                wait_for_events()
        found: dict[str, dict[int, SampledRows]] = {}
        for each in self._sampled:
            counts = values_of(self._session, each.observation)
            if counts:
                sides = found.setdefault(each.fingerprint, {})
                before = sides.get(each.place, SampledRows(0.0, ()))
                sides[each.place] = before.merged(sampled_rows(counts))
        none = SampledRows(0.0, ())
        return {
            name: tuple(sides.get(place, none) for place in range(max(sides) + 1))
            for name, sides in found.items()
        }
