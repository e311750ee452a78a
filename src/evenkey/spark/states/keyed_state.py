"""`stateful`: process a stream key by key, with states that move between workers."""

from __future__ import annotations

import functools
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StructType

from evenkey.core.checking import check_one_of, check_workers, shown, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys import NamedTask, hash_of, key_columns, time_column, with_plain_names
from evenkey.spark.keys.row_numbers import content_hash
from evenkey.spark.sessions import at_state, in_workers, to_arrow_schema, within_query
from evenkey.spark.sessions.before_epoch import WORDS_COLUMN, with_epoch_words
from evenkey.spark.sessions.task_id import current_run
from evenkey.spark.slots import on_slots, own_processes, parsed_schema, state_at
from evenkey.spark.states.clock_times import micros
from evenkey.spark.states.deciding import StatePlans
from evenkey.spark.states.key_function import KeyFunction
from evenkey.spark.states.partial_states import CombineTask
from evenkey.spark.states.reserved_columns import (
    CONTENT,
    COUNT,
    HASH,
    PART,
    PARTITION,
    SECONDS,
    SEEN,
    SLOT,
    TIME,
)
from evenkey.spark.states.slot_task import SlotTask
from evenkey.spark.states.state_columns import (
    check_columns,
    check_kept,
    key_names,
    nullable,
    types_of,
)
from evenkey.spark.states.state_shape import StateShape, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from pyspark.sql import DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.sessions import TaskId
    from evenkey.spark.states.key_batch import KeyBatch
    from evenkey.spark.states.worker_count import Scale

    Rows: TypeAlias = pa.Table | pa.RecordBatch
    Function: TypeAlias = Callable[[KeyBatch], tuple[Rows, Rows | None]]

PARTITIONS_A_WORKER = 16
"""Default number of state partitions per worker."""


def stateful(  # noqa: PLR0913 - all options of the operator, most of them by name only
    df: DataFrame,
    key: str | Sequence[str],
    function: Function,
    output_schema: StructType | str,
    state_schema: StructType | str,
    *,
    state: str | Path | Store | None = None,
    workers: int = 8,
    most_workers: int | None = None,
    partitions: int | None = None,
    time: str | None = None,
    delay: str = "0 seconds",
    timer: str | None = None,
    expire_after: str | None = None,
    balance: Literal["load", "rows"] = "load",
    scale: Scale | None = None,
    merge: Function | None = None,
    cache_bytes: int = 1 << 30,
) -> DataFrame:
    """Process a stream key by key, with a state for each key, on balanced workers.

    Keys are divided into state partitions by their hash, and each worker slot owns some of the
    partitions. Without `merge`, a key with more than half of the mean load of a slot has a
    partition of its own, until it has less than a quarter. Between two epochs, partitions move from
    overloaded slots to others. A slot that gets a partition loads the states of this partition; the
    first slot of a hot key's own partition loads those among which the key was. Nothing else is
    loaded. In each epoch the function is called once for each partition that has rows, or
    keys whose timers are due.

    Parameters
    ----------
    df
        A stream, or a batch of ``foreachBatch`` in a classic session. Another batch is one epoch,
        in which all keys begin without state, and no state is kept.
    key
        Key columns. Null is a key. Columns of arrays, maps and structs cannot be keys.
    function
        Function that takes a batch of keys and returns a tuple: their new states, and results. The
        batch has these attributes:

        - ``states``: pyarrow Table of n rows, one for each key: the key columns, then the columns
          of `state_schema`, which are all null for a key without state.
        - ``rows``: pyarrow Table of m rows of these keys, with the columns of `df`. The rows of a
          key are neighbours, in the order of column `time` if it is passed. All rows of a key in
          an epoch are in one batch.
        - ``positions``: int64[m], ascending: the row of ``states`` with the key of each row.
        - ``due``: bool[n], whether the timer of each key is due.
        - ``now``: the time of the clock as a datetime, or None if it is not known yet.

        The new states are a Table of n rows in the order of ``states`` with the columns of
        `state_schema`; key columns are ignored. A row of nulls deletes the state. The results are a
        Table with the columns of `output_schema`, or None. The result of the function must depend
        on the batch alone, because the function is called again if an epoch runs again.
    output_schema
        Columns of the results, as a `StructType` or as text.
    state_schema
        Columns of the state, all of which may be null.
    state
        Storage location of the states, in addition to the query's checkpoint: a path, a URI
        (``s3a://...``) or a store, which the driver and all executors share. A restarted query
        needs the same location. Required for a stream.
    workers
        Number of slots among which the partitions are divided, W.
    most_workers
        Number of slots that exist, each of them a Spark task. While the query runs, W can become at
        most this number. None: `workers`.
    partitions
        Number of state partitions to which keys are hashed, P, which never changes. None: the
        number that `state` has, or 16 times `most_workers`.
    time
        Timestamp column with event times. The clock is then the watermark: the latest event time of
        earlier epochs minus `delay`. Rows whose time is before the clock are late and are left out.
        None: the clock is the time at which the epoch began.
    delay
        How late rows may be, such as ``"10 minutes"``.
    timer
        Timestamp column of the state with the timer of the key. Once the clock has reached it, the
        key is in the batch of the next epoch, also if it has no rows. The function then sets the
        column to null or to a later time, because otherwise the timer stays due.
    expire_after
        Time, such as ``"1 day"``, after which a state that was not written has expired. An expired
        state is no state, and its timer is never due. None: states do not expire.
    balance
        ``load``: balance the seconds of processor time; partitions move if a worker has more than
        1.1 times the limit, which is the mean or the load of the most loaded partition. ``rows``:
        balance the number of rows, with 1.03 in place of 1.1; a partial state counts as one row.
    scale
        Function that chooses W for the next epoch: it takes the seconds of work of each worker in
        the last epoch, float64[W], and returns the number of workers. None: W stays `workers`. In
        both cases, if `state` has an object ``workers`` with a number as text, this number is W.
    merge
        Function that merges the partial states of hot keys. None: a hot key is on one worker.
        With `merge`, the tasks that read the stream share the work on a hot key, because its rows
        are combined before they are shuffled:

        - These tasks call `function` with parts of the rows of a key, without a state. The states
          that it returns are partial states. The results that it returns are not used.
        - The worker of the key calls `merge`, which takes and returns the same as `function`. But
          ``batch.rows`` has one row for each part: the key columns, and the columns of
          `state_schema` with the partial state.
        - These state columns are all null if `function` returned nulls for the part. Then either
          its rows do not count, or they delete the state, and `merge` must do the same.
        - Merging the partial states, in any order, must give the same state and the same results as
          `function` with the state and all of these rows.
        - The event times of hot keys have no order, also with `time`.
    cache_bytes
        Maximum total size of the states that a worker process keeps between epochs, in bytes; by
        default 1 GiB.

    Returns
    -------
    DataFrame
        The results.

    Raises
    ------
    ConfigurationError
        A column is missing or has a type that is not supported, a parameter is out of range, or
        `state` has other keys, columns or partitions. While the query runs: `state` has nothing of
        a query that has epochs already.
    RunError
        While the query runs: `state` cannot be read or written, a later run of the query uses it,
        or the function fails.

    Notes
    -----
    States and results are exactly those of one process that reads all rows, also if tasks or the
    driver are killed at any time, as long as the sink writes each epoch once and the source can be
    read again. Epochs run only if a source of the query has rows, so a timer that is due waits for
    the next rows. The design follows M. Hoffmann et al., Megaphone: Latency-conscious state
    migration for distributed streaming dataflows (PVLDB 12, 2019), which moves keyed state by
    partitions, and the Dynamic Distributor of `evenkey.joins.balanced_join`.

    Examples
    --------
    Count the rows of each user:

    >>> def count(batch):
    ...     new = np.bincount(batch.positions, minlength=len(batch.states))
    ...     seen = pc.add(pc.fill_null(batch.states["n"], 0), pa.array(new))
    ...     counts = batch.states.set_column(1, "n", seen)
    ...     return counts, counts
    >>> import numpy as np, pyarrow as pa, pyarrow.compute as pc
    >>> clicks = spark.createDataFrame([("ann",), ("bob",), ("ann",)], "user string")
    >>> counts = stateful(clicks, "user", count, "user string, n bigint", "n bigint", workers=2)
    >>> sorted((row["user"], row["n"]) for row in counts.collect())
    [('ann', 2), ('bob', 1)]
    """
    check_workers(workers)
    most = (
        int(workers)
        if most_workers is None
        else whole_number("most_workers", most_workers, workers)
    )
    if partitions is not None:
        partitions = whole_number("partitions", partitions, most)
    whole_number("cache_bytes", cache_bytes, 0)
    check_one_of("balance", balance, ("load", "rows"))
    for name, given in (("function", function), ("scale", scale), ("merge", merge)):
        if not (callable(given) or (name != "function" and given is None)):
            message = f"{name} = {shown(given)}: must be a function"
            raise ConfigurationError(message)
    keys, session = key_names(df, key), df.sparkSession
    timezone = str(session.conf.get("spark.sql.session.timeZone") or "UTC")
    columns = nullable(parsed_schema("state_schema", state_schema))
    output = parsed_schema("output_schema", output_schema)
    check_columns(keys, columns, timer)
    expires = None if expire_after is None else micros("expire_after", expire_after)
    lateness = micros("delay", delay)
    if time is None and lateness:
        message = f"delay = {delay!r} needs time=...: the column with the event times"
        raise ConfigurationError(message)
    check_kept(state, streaming=df.isStreaming or within_query(session))
    named = nullable(StructType([df.schema[name] for name in keys]))
    both = StructType([*named, *columns])
    seen = [] if expires is None else [pa.field(SEEN, pa.int64())]
    work = KeyFunction(
        function=function,
        keys=tuple(keys),
        stored=pa.schema([pa.field(HASH, pa.int64()), *to_arrow_schema(both, "UTC"), *seen]),
        shown=to_arrow_schema(both, timezone),
        results=to_arrow_schema(output, timezone),
        timer=timer,
        expire_after=expires,
    )
    shape = StateShape(
        keys=types_of(named),
        columns=types_of(columns),
        partitions=partitions or PARTITIONS_A_WORKER * most,
        timer=timer,
        event_time=time is not None,
        expires=expires is not None,
    )
    plans: StatePlans | None = None
    if state is not None:
        root = state_at(session, state)
        plans = StatePlans(
            root=root,
            shape=at_state(session, functools.partial(settled, root, shape, partitions)),
            operator=uuid.uuid4().hex,
            workers=int(workers),
            most_workers=most,
            scale=scale,
            by_rows=balance == "rows",
            merges=merge is not None,
            delay=lateness,
        )
    rows = _with_hashes(df, keys, time, shape if plans is None else plans.shape)
    merging: KeyFunction | None = None
    if plans is None:
        rows = rows.withColumn(SLOT, F.pmod(F.col(PARTITION), F.lit(most)).cast("int"))
    else:
        rows = _with_slots(rows, plans)
        if merge is not None:
            merging = replace(work, function=merge, name="merge")
            rows = _combined(rows, work, plans, columns, timezone)
    # In foreachBatch each epoch is a call, which would cache rows of its own.
    placed = on_slots(rows, most, SLOT, stay=df.isStreaming)
    task = SlotTask(work, merging, to_arrow_schema(placed.schema, timezone), plans, cache_bytes)
    with own_processes(df):
        sent = in_workers(session, NamedTask(task, placed.columns))
        return with_plain_names(placed).mapInArrow(sent, output)


def _with_slots(rows: DataFrame, plans: StatePlans) -> DataFrame:
    """Add the slots of rows, and give the rows of hot keys the partitions of these keys."""
    # A join, not a subquery: Spark removes a filter on an input without rows, and its subquery,
    # so an epoch in which only another source of the query has rows would have no plan.
    rows, words = with_epoch_words(rows, _Routes(plans), beneath_state=True)
    count = F.get(words, F.lit(0))
    found = F.array_position(F.slice(words, F.lit(2), count.cast("int")), F.col(HASH))
    own = F.get(words, (count + F.nullif(found, F.lit(0))).cast("int")).cast("int")
    rows = rows.withColumn(PARTITION, F.coalesce(own, F.col(PARTITION)))
    owner = F.get(words, (F.lit(1) + F.lit(2) * count + F.col(PARTITION)).cast("int"))
    return rows.withColumn(SLOT, owner.cast("int")).drop(WORDS_COLUMN)


class _Routes:
    """Decides the plan of an epoch, and returns what rows need of it.

    This is the number of keys that have partitions of their own, the hashes of these keys, their
    partitions, and the slot of each partition.
    """

    def __init__(self, plans: StatePlans) -> None:
        self._plans = plans

    def __call__(self, task: TaskId) -> list[int]:
        plan = self._plans.decide(task, current_run() or task.query)
        own = plan.own_partitions
        return [len(own), *own, *own.values(), *plan.owners]


def _combined(
    rows: DataFrame, work: KeyFunction, plans: StatePlans, columns: StructType, timezone: str
) -> DataFrame:
    """Replace the rows of hot keys by partial states."""
    schema = nullable(rows.schema).add(COUNT, LongType()).add(SECONDS, DoubleType())
    for number, field in enumerate(columns):
        schema = schema.add(f"{PART}{number}", field.dataType)
    task = CombineTask(work, plans, to_arrow_schema(schema, timezone=timezone))
    sent = in_workers(rows.sparkSession, NamedTask(task, rows.columns))
    return with_plain_names(rows).mapInArrow(sent, schema)


def _with_hashes(
    df: DataFrame, keys: Sequence[str], time: str | None, shape: StateShape
) -> DataFrame:
    """Add to rows the hashes of key and contents, the partition of the hash, and the event time."""
    columns = key_columns(df, keys)
    hashed = hash_of(columns, nulls_apart=True)
    partition = F.pmod(hashed, F.lit(shape.partitions)).cast("int")
    added = {HASH: hashed, PARTITION: partition, CONTENT: content_hash(df, df.columns)}
    if time is not None:
        added[TIME] = F.unix_micros(time_column(df, time))
    return df.withColumns(added)
