"""Check that a new query may begin with the state that `rebalance` wrote for it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.moves.checkpoints import id_of, last_batch
from evenkey.spark.moves.moved_state import begun, find, parts_of
from evenkey.spark.plans.places import store_of
from evenkey.spark.sessions import at_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType

    from evenkey.core.stores import Store
    from evenkey.spark.moves.moved_state import MovedState


def moved_to(session: SparkSession, store: Store, queries: Store) -> MovedState | None:
    """Return the state that `rebalance` wrote into a state directory; None if it wrote none.

    Parameters
    ----------
    session
        Session of the new query.
    store
        Store of the state directory.
    queries
        Store with a record of each query that has begun with the directory. Until there is one, the
        old query must not run on.

    Raises
    ------
    ConfigurationError
        The old query has run on since its state was read.
    RunError
        The state is incomplete or corrupt, or cannot be read. Or the old checkpoint is on a server
        that only the record names.
    """
    moved = at_state(session, functools.partial(_complete, store))
    if moved is not None:
        checkpoint = store_of(session, moved.checkpoint)
        check_server(checkpoint, store)
        at_state(session, functools.partial(check_old_query, moved, checkpoint, queries))
    return moved


def check_server(checkpoint: Store, state: Store) -> None:
    """Check that no server gets secrets of the environment because only a record names it.

    Raises
    ------
    RunError
        The old checkpoint is on such a server, which does not hold the state directory either.
    """
    foreign = set(checkpoint.named_servers) - set(state.named_servers)
    if foreign:
        message = (
            f"state {state.url}: its record of rebalance names the old checkpoint "
            f"{checkpoint.url}, on another server ({', '.join(sorted(foreign))}), which would get "
            "your credentials: if that is right, set EVENKEY_WEBHDFS=http://namenode:port on all "
            "hosts; otherwise restore the record, or run rebalance again with another state"
        )
        raise RunError(message)


def ended(session: SparkSession, moved: MovedState) -> Callable[[], None]:
    """Return a function that checks, in a task, that the old query has not run on.

    The new query may have begun without committing its first epoch. Then the old query is still
    valid, and if it has run on, the first epoch must not run again.
    """
    return functools.partial(_check_ended, moved, store_of(session, moved.checkpoint))


def _check_ended(moved: MovedState, checkpoint: Store) -> None:
    try:
        check_old_query(moved, checkpoint)
    except OSError as error:
        message = (
            f"checkpoint {checkpoint.url} of the old query cannot be read ({error}): make it "
            "readable for all executors, or delete it if the old query is not needed any more"
        )
        raise RunError(message) from error


def check_fits(
    moved: MovedState, place: str, workers: int, types: Sequence[DataType], time_mode: str
) -> None:
    """Check that a query continues the old one: the same keys and timers, the workers of the plan.

    Raises
    ------
    ConfigurationError
        It does not.
    """
    if moved.workers != workers:
        message = (
            f"workers = {workers}: rebalance made the plan in {place} for {moved.workers}: pass "
            f"workers={moved.workers}, or rebalance into another state"
        )
        raise ConfigurationError(message)
    given = tuple(kind.simpleString() for kind in types)
    if given != moved.key_types:
        message = (
            f"state {place} holds the state of keys of the types {', '.join(moved.key_types)}, and "
            f"this query has keys of the types {', '.join(given)}: group by the same keys"
        )
        raise ConfigurationError(message)
    if moved.timers and time_mode.lower() != moved.time_mode.lower():
        message = (
            f"timeMode = {time_mode!r}: state {place} has timers of an old query with the time "
            f"mode {moved.time_mode!r}; pass timeMode={moved.time_mode!r}"
        )
        raise ConfigurationError(message)


def check_old_query(moved: MovedState, checkpoint: Store, queries: Store | None = None) -> None:
    """Check that the old query has not run on since its state was read, if its checkpoint exists.

    Parameters
    ----------
    moved
        The record of the moved state.
    checkpoint
        Store of the old checkpoint.
    queries
        As for `moved_to`; None: the old query must not have run on in any case.

    Raises
    ------
    ConfigurationError
        The old query has run on.
    RunError
        The old checkpoint is corrupt.
    OSError
        The old checkpoint cannot be read.
    """
    if queries is not None and queries.names():
        return
    if id_of(checkpoint) == moved.query and last_batch(checkpoint) > moved.batch:
        message = (
            f"the old query has run on to batch {last_batch(checkpoint)} of {checkpoint.url}, and "
            f"its state was read after batch {moved.batch}: stop the old query, and rebalance into "
            "another state"
        )
        raise ConfigurationError(message)


def _complete(store: Store) -> MovedState | None:
    try:
        moved = find(store)
        if moved is None and begun(store):
            message = (
                f"state {store.url} is incomplete, because rebalance was stopped: run rebalance "
                "again with the same state"
            )
            raise RunError(message)
        lost = set(moved.parts) - set(parts_of(store, moved.folder)) if moved is not None else ()
    except OSError as error:
        message = f"state {store.url} cannot be read ({error}): choose another storage location"
        raise RunError(message) from error
    if lost:
        more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        message = (
            f"{store.path(min(lost))}{more}, which rebalance wrote, is gone, and its keys would "
            "begin without state: put it back, or rebalance into another state"
        )
        raise RunError(message)
    return moved
