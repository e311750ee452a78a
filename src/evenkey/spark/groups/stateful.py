"""Operators with state on streams: a pinned plan assigns each key to a worker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark import cloudpickle

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups import stateful_calls
from evenkey.spark.groups.exchange import SPLIT, with_split
from evenkey.spark.groups.hints import arguments_of, named
from evenkey.spark.groups.pinned import Begun, pinned_plan, queries_of
from evenkey.spark.groups.rows import check_kind
from evenkey.spark.moves import Restoring, check_fits, ended, initial_rows, moved_to
from evenkey.spark.sessions.worker_python import check_python, in_workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, GroupedData
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
    from pyspark.sql.types import StructType

    from evenkey.core.stores import Store
    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.groups.pinned import PinnedPlan
    from evenkey.spark.groups.rows import Rows
    from evenkey.spark.moves import MovedState

    Schema = StructType | str
    Function = Callable[..., Any]

cloudpickle.register_pickle_by_value(stateful_calls)  # type: ignore[no-untyped-call]


def transformed(
    rows: Rows, method: str, processor: Any, initial: Rows | None, options: dict[str, Any]
) -> DataFrame:
    """Call Spark's ``transformWithState`` or ``transformWithStateInPandas`` on placed keys.

    Parameters
    ----------
    rows
        Rows of a stream, whose keys the pinned plan places. Or rows of a batch, whose keys Spark
        places.
    method
        Name of one of the two methods.
    processor
        The user's processor.
    initial
        Rows with the initial states of keys; None: no initial states.
    options
        Further arguments of Spark's method.
    """
    placed = follows_plan(rows)
    moved = _moved(rows)
    sides = [rows] if initial is None else [rows, initial]
    renamed = any(side.python_keys.user_names for side in sides)
    if not (placed or moved or renamed):
        plain = None if initial is None else initial.plain
        return _call(rows.plain, method, processor, initialState=plain, **options)
    if not hasattr(processor, "handleInputRows"):
        message = f"statefulProcessor = {shown(processor)}: pass an instance of StatefulProcessor"
        raise ConfigurationError(message)
    if moved is not None:
        _check_moved(rows, moved, initial, str(options["timeMode"]))
    first = None if moved is None else ended(rows.df.sparkSession, moved.state)
    plan = pinned_plan(rows, method, first) if placed else None
    # On one worker no plan is pinned, and the query is recorded without one.
    begins = None if moved is None or first is None else Begun(moved.queries, first)
    begun: GroupedData | None = None
    names: tuple[str, ...] = ()
    if moved is not None:
        begun = _placed(_moved_keys(rows, moved), plan, rows)
    elif initial is not None:
        if initial.keys.types != rows.keys.types or len(initial.keys.own) != len(rows.keys.own):
            message = f"{method}: initialState is grouped by other keys; group it by the same keys"
            raise ConfigurationError(message)
        begun, names = _placed(initial.python_keys, plan, rows), initial.python_keys.user_names
    sent = in_workers(rows.df.sparkSession, processor, beside_driver=True)
    if moved is not None:
        sent = Restoring(
            sent, [(each.name, each.kind, each.types) for each in moved.state.variables]
        )
    wrapped = stateful_calls.Shown(sent, *_shape(rows, placed=placed), initial_names=names)
    checked = _checked(plan, rows, begins)
    return _call(checked, method, wrapped, initialState=begun, **options)


def with_state(rows: Rows, function: Callable[..., Any], options: dict[str, Any]) -> DataFrame:
    """Call Spark's ``applyInPandasWithState`` on placed keys; Spark places the keys of a batch."""
    method = "applyInPandasWithState"
    placed = follows_plan(rows)
    moved = _moved(rows)
    if not (placed or moved or rows.python_keys.user_names):
        return _call(rows.plain, method, function, **options)
    arguments_of(function, (3,))
    if moved is not None:
        message = (
            f"{method}: state {moved.store.url} holds the state of an old query, with which this "
            "method cannot begin; use transformWithStateInPandas"
        )
        raise ConfigurationError(message)
    plan = pinned_plan(rows, method) if placed else None
    sent = in_workers(rows.df.sparkSession, function)
    call = stateful_calls.on_state(sent, *_shape(rows, placed=placed))
    return _call(_checked(plan, rows), method, named(call, function), **options)


def follows_plan(rows: Rows) -> bool:
    """Return whether evenkey places the keys.

    evenkey places the keys of a stream, unless this is impossible or the user requested Spark's own
    placement. Spark places the keys of a batch.

    Raises
    ------
    ConfigurationError
        The keys of the stream cannot be placed, but the user passed `state`.
    """
    check_python(rows.df.sparkSession)
    if not rows.df.isStreaming:
        return False
    choice = rows.choice()
    if choice.unasked and rows.state is not None:
        message = (
            f"state = {shown(rows.state)}: no plan can be used, because {choice.why}; leave out "
            "state"
        )
        raise ConfigurationError(message)
    return choice.way != "spark"


class _Moved(NamedTuple):
    """The state of an old query, its state directory, and the records of queries in there."""

    state: MovedState
    store: Store
    queries: Store


def _moved(rows: Rows) -> _Moved | None:
    """Return the state of an old query that `rebalance` wrote into the `state` of a stream."""
    tables, store = rows.plans.tables("whole"), rows.plans.store
    if tables is None or store is None or not rows.df.isStreaming:
        return None
    queries = queries_of(tables)
    found = moved_to(rows.df.sparkSession, store, queries)
    return None if found is None else _Moved(found, store, queries)


def _check_moved(rows: Rows, moved: _Moved, initial: Rows | None, time_mode: str) -> None:
    """Check that a query can begin with the state of an old query.

    Raises
    ------
    ConfigurationError
        It cannot.
    """
    if initial is not None:
        message = (
            f"initialState: state {moved.store.url} holds the state of an old query, with which "
            "this one begins; leave initialState out"
        )
        raise ConfigurationError(message)
    check_fits(moved.state, moved.store.url, rows.workers, rows.keys.types, time_mode)


def _moved_keys(rows: Rows, moved: _Moved) -> Keys:
    """Return the initial states, with the same key columns as the rows."""
    keys, session = rows.python_keys, rows.df.sparkSession
    frame = initial_rows(session, moved.store, moved.state, keys.names, keys.own)
    return replace(keys, frame=frame)


def _shape(rows: Rows, *, placed: bool) -> tuple[int, int, tuple[str, ...]]:
    """Return the number of evenkey's columns, the number of key columns and `Keys.user_names`."""
    keys = rows.python_keys
    return len(keys.own) + placed, len(keys.names), keys.user_names


def _checked(plan: PinnedPlan | None, rows: Rows, begins: Begun | None = None) -> GroupedData:
    """Place the rows of a stream, after one task has checked and recorded the query."""
    keys, check = rows.python_keys, begins if plan is None else plan
    return _placed(keys if check is None else check.checked(keys), plan, rows)


def _placed(keys: Keys, plan: PinnedPlan | None, planned: Rows) -> GroupedData:
    if plan is None:
        return keys.frame.groupBy(*keys.columns)
    split = with_split(keys, plan, planned.grouping, planned.workers, whole=True, inline=True)
    return split.groupBy(*keys.columns, SPLIT)


def _call(grouped: Any, method: str, work: Any, **options: Any) -> DataFrame:
    result: DataFrame = getattr(grouped, method)(work, **options)
    return result


class Stateful:
    """Operators with state on streams."""

    rows: Rows
    """The rows and their keys."""

    def applyInPandasWithState(  # noqa: N802 - Spark's name
        self,
        func: Function,
        outputStructType: Schema,  # noqa: N803 - Spark's names
        stateStructType: Schema,  # noqa: N803
        outputMode: str,  # noqa: N803
        timeoutConf: str,  # noqa: N803
    ) -> DataFrame:
        """Call a function on each key's new rows and state, as Spark's ``applyInPandasWithState``.

        Keys are placed as for `transformWithStateInPandas`. Spark has this method for streams only.

        Parameters
        ----------
        func
            Takes the key as a tuple, an iterator of pandas DataFrames with the key's new rows, and
            the state (Spark's ``GroupState``); returns an iterator of DataFrames.
        outputStructType
            Schema of the rows that `func` returns.
        stateStructType
            Schema of the state, which `func` reads and writes as a tuple.
        outputMode
            Spark's output mode, ``"append"`` or ``"update"``.
        timeoutConf
            Spark's timeout of states: ``"NoTimeout"``, ``"ProcessingTimeTimeout"`` or
            ``"EventTimeTimeout"``.

        Raises
        ------
        ConfigurationError
            `state` is None, or has a plan for other keys or workers, or states that `rebalance`
            wrote, which this method cannot read. Or the number of workers is not
            ``spark.sql.shuffle.partitions``, which the checkpoint of a query pins.
        RunError
            `state` cannot be read or written.

        Examples
        --------
        >>> import tempfile
        >>> import pandas as pd
        >>> from evenkey.spark import groupBy
        >>> folder, state = tempfile.mkdtemp(), tempfile.mkdtemp()
        >>> rows = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> rows.write.mode("append").parquet(folder)
        >>> clicks = spark.readStream.schema(rows.schema).parquet(folder)
        >>> def seen(key, batches, state):
        ...     before = state.get[0] if state.exists else 0
        ...     state.update((before + sum(map(len, batches)),))
        ...     yield pd.DataFrame({"user": [key[0]], "seen": [state.get[0]]})
        >>> counted = groupBy(clicks, "user", state=state).applyInPandasWithState(
        ...     seen, "user string, seen long", "n long", "update", "NoTimeout"
        ... )
        >>> writer = counted.writeStream.format("memory").queryName("seen").outputMode("update")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> spark.table("seen").sort("user").collect()
        [Row(user='ann', seen=80), Row(user='bob', seen=20)]
        """
        options = {
            "outputStructType": outputStructType,
            "stateStructType": stateStructType,
            "outputMode": outputMode,
            "timeoutConf": timeoutConf,
        }
        return with_state(self.rows, func, options)

    def transformWithStateInPandas(  # noqa: N802 - Spark's name
        self,
        statefulProcessor: StatefulProcessor,  # noqa: N803 - Spark's names
        outputStructType: Schema,  # noqa: N803
        outputMode: str,  # noqa: N803
        timeMode: str,  # noqa: N803
        initialState: Stateful | None = None,  # noqa: N803
        eventTimeColumnName: str = "",  # noqa: N803
    ) -> DataFrame:
        """Run a processor with state on pandas, as Spark's ``transformWithStateInPandas``.

        In a stream, each key is on the worker that the plan in `state` assigns to it. Make this
        plan with `fit` from earlier rows and grouping ``"whole"``; without a plan there, keys are
        placed by their hash. The first query that starts pins the plan. After that no key moves,
        also not after a restart, because the state of a key cannot move; `rebalance` moves it to a
        new query. A key that the plan does not list goes to the worker of the bucket of its hash.
        For a batch, this is Spark's own method.

        If `rebalance` wrote `state`, the query begins with the state of the old query: before the
        first rows of a key, the variables that the processor declares get their values, and the
        timers are registered. The processor's own ``handleInitialState`` is not called.

        Parameters
        ----------
        statefulProcessor
            Spark's ``StatefulProcessor``. Its ``handleInputRows`` gets the key as a tuple, an
            iterator of pandas DataFrames with the key's new rows, and timer values; it returns an
            iterator of DataFrames.
        outputStructType
            Schema of the rows that the processor returns.
        outputMode
            Spark's output mode: ``"Append"``, ``"Update"`` or ``"Complete"``.
        timeMode
            What timers and the time to live of states follow: ``"None"``, ``"ProcessingTime"`` or
            ``"EventTime"``.
        initialState
            Result of `groupBy`, by the same keys, for the DataFrame with the initial states. None:
            no initial states, except those that `rebalance` wrote.
        eventTimeColumnName
            Column of the result with the event time that operators after this one use, or ``""``.

        Raises
        ------
        ConfigurationError
            `state` is None, or has a plan or states for other keys or workers. Or the number of
            workers is not ``spark.sql.shuffle.partitions``, which the checkpoint of a query pins.
        RunError
            `state` cannot be read or written.

        Examples
        --------
        >>> import pandas as pd
        >>> from pyspark.sql.streaming import StatefulProcessor
        >>> class Seen(StatefulProcessor):
        ...     def init(self, handle):
        ...         self.seen = handle.getValueState("seen", "n long")
        ...     def handleInputRows(self, key, batches, timerValues):
        ...         before = self.seen.get()[0] if self.seen.exists() else 0
        ...         self.seen.update((before + sum(map(len, batches)),))
        ...         yield pd.DataFrame({"user": [key[0]], "seen": [self.seen.get()[0]]})
        >>> provider = "spark.sql.streaming.stateStore.providerClass"
        >>> rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        >>> spark.conf.set(provider, rocks)
        >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> from evenkey.spark import groupBy
        >>> counted = groupBy(clicks, "user").transformWithStateInPandas(
        ...     Seen(), "user string, seen long", "Update", "None"
        ... )
        >>> counted.sort("user").collect()
        [Row(user='ann', seen=80), Row(user='bob', seen=20)]
        """
        return self._transformed(
            "transformWithStateInPandas",
            statefulProcessor,
            initialState,
            outputStructType=outputStructType,
            outputMode=outputMode,
            timeMode=timeMode,
            eventTimeColumnName=eventTimeColumnName,
        )

    def transformWithState(  # noqa: N802 - Spark's name
        self,
        statefulProcessor: StatefulProcessor,  # noqa: N803 - Spark's names
        outputStructType: Schema,  # noqa: N803
        outputMode: str,  # noqa: N803
        timeMode: str,  # noqa: N803
        initialState: Stateful | None = None,  # noqa: N803
        eventTimeColumnName: str = "",  # noqa: N803
    ) -> DataFrame:
        """Run a processor with state on rows, as Spark's ``transformWithState``.

        Keys are placed as for `transformWithStateInPandas`.

        Parameters
        ----------
        statefulProcessor
            Spark's ``StatefulProcessor``. Its ``handleInputRows`` gets the key as a tuple, an
            iterator of the key's new rows, and timer values; it returns an iterator of rows.
        outputStructType
            Schema of the rows that the processor returns.
        outputMode
            Spark's output mode: ``"Append"``, ``"Update"`` or ``"Complete"``.
        timeMode
            What timers and the time to live of states follow: ``"None"``, ``"ProcessingTime"`` or
            ``"EventTime"``.
        initialState
            Result of `groupBy`, by the same keys, for the DataFrame with the initial states. None:
            no initial states, except those that `rebalance` wrote.
        eventTimeColumnName
            Column of the result with the event time that operators after this one use, or ``""``.

        Raises
        ------
        ConfigurationError
            `state` is None, or has a plan or states for other keys or workers. Or the number of
            workers is not ``spark.sql.shuffle.partitions``, which the checkpoint of a query pins.
        RunError
            `state` cannot be read or written.

        Examples
        --------
        >>> from pyspark.sql import Row
        >>> from pyspark.sql.streaming import StatefulProcessor
        >>> class Seen(StatefulProcessor):
        ...     def init(self, handle):
        ...         self.seen = handle.getValueState("seen", "n long")
        ...     def handleInputRows(self, key, rows, timerValues):
        ...         before = self.seen.get()[0] if self.seen.exists() else 0
        ...         self.seen.update((before + sum(1 for _ in rows),))
        ...         yield Row(user=key[0], seen=self.seen.get()[0])
        >>> provider = "spark.sql.streaming.stateStore.providerClass"
        >>> rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        >>> spark.conf.set(provider, rocks)
        >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> from evenkey.spark import groupBy
        >>> counted = groupBy(clicks, "user").transformWithState(
        ...     Seen(), "user string, seen long", "Update", "None"
        ... )
        >>> counted.sort("user").collect()
        [Row(user='ann', seen=80), Row(user='bob', seen=20)]
        """
        return self._transformed(
            "transformWithState",
            statefulProcessor,
            initialState,
            outputStructType=outputStructType,
            outputMode=outputMode,
            timeMode=timeMode,
            eventTimeColumnName=eventTimeColumnName,
        )

    def _transformed(
        self,
        method: str,
        processor: StatefulProcessor,
        initial: Stateful | None,
        **options: Any,
    ) -> DataFrame:
        if initial is None:
            return transformed(self.rows, method, processor, None, options)
        check_kind(initial, Stateful, "initialState")
        return transformed(self.rows, method, processor, initial.rows, options)
