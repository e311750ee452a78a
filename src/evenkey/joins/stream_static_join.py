"""Balanced join: a stream with a static table that is too large to broadcast."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from evenkey.core.checking import check_one_of, check_workers, shown, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.joins.balance.distributor import DynamicDistributor
from evenkey.joins.balance.epoch_plans import EpochPlans
from evenkey.joins.balance.modes import Mode
from evenkey.joins.balance.work import items, seconds
from evenkey.joins.matching.by_key import KeyedJoin
from evenkey.joins.matching.following import following
from evenkey.joins.matching.on import Keys, SpatialMatch
from evenkey.joins.matching.partition_join import SLOT
from evenkey.joins.sides.sides import aligned, check_sides, result_schema, stream_columns
from evenkey.joins.sides.static_side import held_side, static_side, static_store
from evenkey.joins.space.partitioners import Leaves
from evenkey.joins.static.stored_dead_letters import dead_letters_at
from evenkey.joins.tasks.join_task import JoinTask
from evenkey.joins.tasks.routing import Routing
from evenkey.joins.tasks.staying import StayTask, can_stay, fits_whole, say_that_rows_stay
from evenkey.spark.keys import NamedTask, column_names, find_columns, time_column, with_plain_names
from evenkey.spark.sessions import in_workers, temporary_directory, within_query
from evenkey.spark.slots import on_slots, own_processes, state_at

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from evenkey.core.stores import Store
    from evenkey.joins.balance.modes import Balance
    from evenkey.joins.matching.by_key import How
    from evenkey.joins.matching.following import Then
    from evenkey.joins.matching.partition_join import PartitionJoin
    from evenkey.joins.sides.static_side import IfChanged
    from evenkey.joins.static.dead_letters import DeadLetters

PARTITIONS_A_WORKER = 4
"""Default number of partitions per worker, as in the experiments."""


def balanced_join(  # noqa: PLR0913 - all options of a join, most of them by name only
    stream: DataFrame,
    static: DataFrame,
    on: str | Sequence[str] | SpatialMatch,
    how: How = "inner",
    workers: int = 8,
    balance: Balance | None = "load",
    *,
    cache_static: bool = True,
    partitions: int | None = None,
    state: str | Path | Store | None = None,
    time: str | None = None,
    distributor: DynamicDistributor | None = None,
    cache_bytes: int = 1 << 30,
    dead_letters: DeadLetters | str | Path | Store | None = None,
    if_changed: IfChanged = "error",
    then: Then | None = None,
    schema: StructType | str | None = None,
) -> DataFrame:
    """Join a stream with a static table, both divided over balanced workers.

    The static side is divided into more partitions than there are workers, and each worker
    slot owns some of them. The stream's rows go to the slot that owns their partition. With a
    `balance` the Dynamic Distributor measures the load and moves partitions between epochs. A
    partition with more load than one slot should have is copied to several slots, which share its
    rows. The results are always exactly those of Spark's own join.

    Parameters
    ----------
    stream
        Batch or streaming DataFrame. A batch is one epoch. With a `balance`, the rows of a batch
        are counted first, so its keys or geometries are read a second time;
        ``DynamicDistributor(copies=False)`` avoids this.
    static
        Batch DataFrame. It is written to `state` once. If `state` already holds the same rows, the
        stored rows are used. The function `refresh` replaces the stored rows while the query runs.
    on
        Key columns of the same names and types on both sides, or a `SpatialMatch`.
    how
        ``inner``, or ``left`` (by key only): the stream's rows without a match stay, with
        nulls.
    workers
        Number of slots, W.
    balance
        ``load``: balance the seconds of work (LB in the paper); in a batch, balance the number of
        rows. ``rows``: balance the number of rows (DB in the paper). None: partitions do not move.
    cache_static
        True: static partitions stay in their worker between epochs (STAL in the paper). False:
        static partitions are loaded in every epoch (STRL in the paper).
    partitions
        Number of partitions, P. None: 4 per worker, with one exception: a join by space has 1
        partition if the static side is small and neither `distributor` nor `then` is passed. Small
        means at most a sixteenth of `cache_bytes`, where the size of the geometries counts four
        times. If a join by space has 1 partition, every worker holds the whole static side. The
        stream's rows then stay where they are, and nothing is moved or balanced.
    state
        Storage location of the static data and the epoch log, in addition to the query's
        checkpoint: a path, a URI (``s3a://...``) or a store, which the driver and all executors
        share. A restarted query needs the same location. None: a temporary directory of this
        machine. A restart is then not exact, and hosts that do not share this directory raise an
        error.
    time
        Timestamp column with the event times that the Dynamic Distributor uses as its clock; None:
        processing time.
    distributor
        Parameters of Algorithm 1, load metric, planner, and whether partitions are copied. None:
        the parameters of the paper, with copies.
    cache_bytes
        Maximum total size of the static partitions that a worker process keeps, in bytes; by
        default 1 GiB.
    dead_letters
        Where to write rows of both sides whose geometry cannot be used. A column ``reason`` is
        added to these rows. Pass a location as for `state`, to which Parquet files by kind, query
        and epoch are written. Or pass an object of your own with a method
        ``write(kind, epoch, part, table)``, which Spark's tasks call with the rows as a pyarrow
        Table. None: such a row fails the query.
    if_changed
        What to do if the static side in `state` differs from `static` in the number or content of
        rows. ``error``: raise an error. ``refresh``: replace the static side in `state` by `static`
        from the next epoch on. ``reuse``: join with the static side in `state`, without a
        comparison. With ``error`` and ``refresh``, each call with a `state` reads all of `static`
        once more, to hash it. If the function `refresh` has replaced the static side in `state`,
        the DataFrame that was replaced does not count as different: ``error`` then uses the
        replacement.
    then
        Function that is applied to the joined rows in the joining task, so that ``balance="load"``
        includes its work. Each call gets joined rows of one partition as a pyarrow Table. The table
        has at most about a million rows, or all matches of one row of the stream if these are more.
        The function returns a Table or RecordBatch, or yields several. It may filter, change and
        add rows. Its results must not depend on how rows are divided into calls. If an epoch runs
        again, the function is called again.
    schema
        Schema of the rows that `then` returns; None: the schema of the joined rows.

    Returns
    -------
    DataFrame
        By key: the key columns, the stream's other columns, and the static side's other columns, as
        in ``stream.join(static, on, how)``. By space: the stream's columns, then the static side's
        columns without geometry and relation. The stream's geometry is included only if
        `SpatialMatch.keep_geometry` is True. With `then`: the columns of `schema`.

    Raises
    ------
    ConfigurationError
        A column is missing, is on both sides without being joined on, or has a type that cannot be
        joined on; a parameter is out of range; or `state` holds static data of another join, or
        rows that differ from `static`.
    RunError
        A static row has a null key or an unusable geometry, or `state` cannot be written. While the
        query runs: a static partition is missing or corrupt, `state` was created again, a host does
        not see what another host wrote to `state`, or `then` fails.

    Notes
    -----
    Marić et al., Dynamic Load Balancing in Stream Processing Pipelines Containing
    Stream-Static Joins (Electronics 2023).

    Examples
    --------
    >>> clicks = spark.createDataFrame([("ann", 1), ("bob", 2)], "user string, amount int")
    >>> cities = spark.createDataFrame([("ann", "Oslo")], "user string, city string")
    >>> joined = balanced_join(clicks, cities, on="user", how="left", workers=2)
    >>> sorted((row["user"], row["city"]) for row in joined.collect())
    [('ann', 'Oslo'), ('bob', None)]
    """
    check_workers(workers)
    mode = _mode(balance, cache_static)
    stream, static, match = aligned(stream, static, _match(on))
    if partitions is not None:
        whole_number("partitions", partitions, 1)
    whole_number("cache_bytes", cache_bytes, 0)
    if distributor is not None and not isinstance(distributor, DynamicDistributor):
        message = f"distributor = {shown(distributor)}: pass a DynamicDistributor(...)"
        raise ConfigurationError(message)
    may_stay = distributor is None and can_stay(match)
    if partitions is not None and partitions < workers and not (partitions == 1 and may_stay):
        message = (
            f"partitions = {partitions}: {workers} workers need at least one each; pass "
            f"partitions={PARTITIONS_A_WORKER * workers} or so"
        )
        raise ConfigurationError(message)
    check_sides(stream, static, match, how)
    if time is not None:
        time_column(stream, time)
        (time,) = find_columns(stream, time, "time")
    timezone = stream.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    follows, result = following(then, schema, result_schema(stream, static, match), timezone)
    session = stream.sparkSession
    root = state_at(session, temporary_directory(session, "join") if state is None else state)
    store, writer = static_store(root), dead_letters_at(session, dead_letters)
    held = held_side(session, store)
    stays = may_stay and partitions == 1
    if may_stay and partitions is None and cache_static and then is None:
        # Static data that are already in the state keep their number of partitions.
        stays = held.latest.partitions == 1 if held else fits_whole(static, match, cache_bytes)
        if stays:
            say_that_rows_stay(PARTITIONS_A_WORKER * workers)
    manifest = static_side(
        static,
        store,
        match,
        held,
        partitions=1 if stays else partitions or PARTITIONS_A_WORKER * workers,
        # No later query uses a temporary directory.
        if_changed="reuse" if state is None else if_changed,
        dead_letters=writer,
    )
    clock = (distributor or DynamicDistributor()).load_clock
    distributor = None if stays else _distributor(mode, distributor)
    plans = EpochPlans(
        epochs=root.under("epochs"),
        static=store.written_by(manifest.host),
        partitions=manifest.partitions,
        workers=workers,
        distributor=distributor,
        event_time=time is not None,
        batch_version=manifest.version,
        shape=manifest.shape,
        streaming=stream.isStreaming,
        counts=_counts(stream, distributor),
    )
    routed = Routing(stream, plans, manifest)
    join: PartitionJoin
    if isinstance(match, Keys):
        join = KeyedJoin(match.columns, stream_columns(stream, match), how)
    else:
        leaves = Leaves.from_json(manifest.partitioning)
        join = match.within_partitions(leaves, stream_columns(stream, match))
    task = JoinTask(
        join,
        plans,
        cache_bytes=cache_bytes,
        cache_static=mode.cache_static,
        time=time,
        then=follows,
        load_clock=clock,
        stays=stays,
    )
    work: JoinTask | StayTask = task
    if isinstance(match, Keys):
        rows = on_slots(routed.by_keys(match), workers, SLOT, stay=cache_static)
    elif stays:
        rows, work = stream, StayTask(task, plans, match.geometry, writer)
    else:
        rows = on_slots(routed.by_space(match, writer), workers, SLOT, stay=cache_static)
    with own_processes(stream):
        named = in_workers(session, NamedTask(work, rows.columns))
        return with_plain_names(rows).mapInArrow(named, result)


def _mode(balance: Balance | None, cache_static: bool) -> Mode:  # noqa: FBT001 - as it was passed
    check_one_of("balance", balance, ("load", "rows", None))
    check_one_of("cache_static", cache_static, (True, False))
    return Mode(balance, cache_static)


def _match(on: str | Sequence[str] | SpatialMatch) -> Keys | SpatialMatch:
    return on if isinstance(on, SpatialMatch) else Keys(column_names(on, "on"))


def _counts(stream: DataFrame, distributor: DynamicDistributor | None) -> bool:
    """Return whether rows are counted before they are placed: only those of a batch are."""
    copies = distributor is not None and distributor.copies
    return copies and not (stream.isStreaming or within_query(stream.sparkSession))


def _distributor(mode: Mode, given: DynamicDistributor | None) -> DynamicDistributor | None:
    """Return the Distributor of a mode, with the mode's load metric if none was passed."""
    if not mode.dynamic:
        return None
    distributor = given or DynamicDistributor()
    metric = items if mode.balance == "rows" else seconds
    return dataclasses.replace(distributor, load=distributor.load or metric)
