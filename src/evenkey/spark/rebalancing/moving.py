"""`rebalance`: move the state of a stream to a new plan and another number of workers."""

from __future__ import annotations

import functools
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from evenkey.core.checking import check_path, check_text, check_workers
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore
from evenkey.spark.moves.checkpoints import id_of, read_checkpoint, start_positions
from evenkey.spark.moves.initial_rows import spark_path
from evenkey.spark.moves.moved_state import FOLDER, MovedState, begin, begun, find, parts_of, record
from evenkey.spark.moves.new_query import check_old_query
from evenkey.spark.plans.places import MARKS, check_state, store_of
from evenkey.spark.rebalancing.new_state import write_states
from evenkey.spark.rebalancing.old_state import read_operator, read_state
from evenkey.spark.sessions import at_state, is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store

Result = TypeVar("Result")


def rebalance(
    spark: SparkSession,
    checkpoint: str | Path,
    *,
    state: str | Path | Store,
    workers: int | None = None,
    cost: str | None = None,
) -> MovedState:
    """Move the state of a stopped stream to a new plan, also for another number of workers.

    For a query of ``transformWithStateInPandas`` or ``transformWithState``, by `groupBy` or by
    Spark's own ``groupBy``. Spark reads the state from the old checkpoint, which is not changed.
    The keys are planned by their state, and plan and state are written to `state`. A new query,
    with the same processor and a new checkpoint, then begins with ``groupBy(..., state=state)``:
    before the first rows of a key, evenkey restores its state variables and registers its timers.

    The call writes one object last, which makes the state valid. If the program is killed before
    that, the same call begins again. Once the state is complete, the same call returns its record
    and changes nothing, so that the program of the new query can call it at each start. `workers`
    and `cost` may then be left out, but must not differ from those of the first call.

    The watermark of the new query begins anew: rows that the old query would have dropped as late
    are counted until the new watermark has passed `watermark` of the record.

    Parameters
    ----------
    spark
        A classic session or one of Spark Connect. Over Connect a task of this session reads the
        positions from the checkpoint.
    checkpoint
        Checkpoint location of the old query, a path or URI. The query has stopped, and its last
        batch is committed.
    state
        Storage location of the new query: empty, or what an earlier call has written.
    workers
        Number of workers of the new query, which is also its number of shuffle partitions. None: as
        the old query.
    cost
        Cost of a key, as a SQL expression over its state variables, such as ``"seen.n"`` for the
        field ``n`` of the value ``seen``; a null costs 0. Of a map, each entry is a row with the
        fields ``user_map_key`` and ``user_map_value``. None: each value, each element of a list,
        each entry of a map and each timer costs 1.

    Returns
    -------
    MovedState
        What was moved. Its attribute `positions` says where the new query begins to read each
        source: a tuple of JSON texts, for Kafka the value of ``startingOffsets``. `states` and
        `timers` are numbers of what was moved, `workers` the number of workers, `batch` the batch
        after which the state was read, and `watermark` the old watermark in milliseconds since
        1970.

    Raises
    ------
    ConfigurationError
        There is no checkpoint, its last batch is not committed, or it is not of such a query. A
        state variable has a time to live, a source cannot begin at a given position, or a key is
        a null number or NaN. `state` holds something else, or another argument is invalid.
    RunError
        The checkpoint or `state` cannot be read or written.

    Examples
    --------
    These examples need a Kafka broker with a topic ``clicks`` of two partitions, and a directory
    ``old-checkpoint``: the checkpoint of a query of `transformWithStateInPandas` that read this
    topic and has stopped. The state of the query moves from 8 to 12 workers:

    >>> moved = rebalance(
    ...     spark, "old-checkpoint", state="new-state", workers=12, cost="seen.n"
    ... )  # doctest: +SKIP
    >>> moved.positions  # doctest: +SKIP
    ('{"clicks":{"0":4120,"1":4097}}',)

    The new query begins there, with the state:

    >>> source = spark.readStream.format("kafka").option("subscribe", "clicks")  # doctest: +SKIP
    >>> source = source.option("startingOffsets", moved.positions[0])  # doctest: +SKIP
    >>> grouped = groupBy(
    ...     source.load(), "key", workers=12, state="new-state"
    ... )  # doctest: +SKIP
    """
    check_path("checkpoint", checkpoint)
    check_state(state, needed=True)
    if workers is not None:
        check_workers(workers)
    if cost is not None:
        check_text("cost", cost, "seen.n")
    store, old = store_of(spark, state), store_of(spark, checkpoint)
    if isinstance(old, LocalStore) and not is_remote(spark):
        old = LocalStore(Path(old.url).absolute())
    finished = _at(spark, store, functools.partial(_finished, store, old, workers, cost))
    if finished is not None:
        return finished
    query = _at(spark, old, functools.partial(read_checkpoint, old))
    positions = start_positions(old.url, query.offsets)
    place = spark_path(old)
    operator = read_operator(spark, place)
    wanted = operator.partitions if workers is None else workers
    found = read_state(spark, place, query.batch, operator)
    _at(spark, store, functools.partial(_begin, store))
    folder = f"{FOLDER}/states-{uuid.uuid4().hex}"
    origin = f"the state after batch {query.batch} of checkpoint {old.url}"
    states, timers = write_states(spark, store, folder, found, wanted, cost, origin)
    moved = MovedState(
        checkpoint=old.url,
        query=query.query,
        batch=query.batch,
        workers=wanted,
        cost=cost,
        positions=positions,
        watermark=query.watermark,
        states=states,
        timers=timers,
        time_mode=operator.time_mode,
        key_types=found.key_types,
        variables=found.variables,
        folder=folder,
        parts=_at(spark, store, functools.partial(parts_of, store, folder)),
    )
    _at(spark, old, functools.partial(check_old_query, moved, old))
    return _at(spark, store, functools.partial(_finish, store, moved))


def _at(spark: SparkSession, store: Store, work: functools.partial[Result]) -> Result:
    """Call a function where the store can be reached; name the store if it cannot.

    Raises
    ------
    RunError
        The store cannot be read or written.
    """
    try:
        return at_state(spark, work)
    except OSError as error:
        message = f"{store.url} cannot be read or written ({error}): make it accessible"
        raise RunError(message) from error


def _finished(store: Store, old: Store, workers: int | None, cost: str | None) -> MovedState | None:
    """Return the record of a finished move, if this call would have made it; None: there is none.

    Raises
    ------
    ConfigurationError
        The state was moved from another query, for other workers or by another cost, or the old
        query has run on.
    """
    moved = find(store)
    if moved is None:
        return None
    query = id_of(old)
    same = moved.checkpoint == old.url if query is None else moved.query == query
    if not same or workers not in (None, moved.workers):
        message = (
            f"state {store.url} holds the state of {moved.checkpoint} for {moved.workers} workers: "
            "pass another state"
        )
        raise ConfigurationError(message)
    if cost not in (None, moved.cost):
        by = "by the default cost" if moved.cost is None else f"by cost = {moved.cost!r}"
        message = (
            f"cost = {cost!r}: the keys in state {store.url} were planned {by}: pass the same cost "
            "or another state"
        )
        raise ConfigurationError(message)
    check_old_query(moved, old)
    _tidy(store, moved)
    return moved


def _begin(store: Store) -> None:
    """Write the first object of a move.

    Raises
    ------
    ConfigurationError
        The state directory is not empty.
    """
    if begun(store):
        return
    others = [name for name in store.names() if not name.startswith(f"{MARKS}/")]
    if others:
        message = (
            f"state {store.url} is not empty, as it holds {others[0]}: pass an empty location, "
            "for the plan and the state of the new query"
        )
        raise ConfigurationError(message)
    begin(store)


def _finish(store: Store, moved: MovedState) -> MovedState:
    """Write the record, the last object; then delete what stopped calls have left."""
    stored = record(store, moved)
    _tidy(store, stored)
    return stored


def _tidy(store: Store, moved: MovedState) -> None:
    """Delete the states that stopped calls have left."""
    for folder in {"/".join(name.split("/")[:2]) for name in store.names(FOLDER)}:
        if folder.startswith(f"{FOLDER}/states-") and folder != moved.folder:
            store.under(folder).clear()
