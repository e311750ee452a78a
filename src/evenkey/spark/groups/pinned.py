"""Plans of streams with state: pinned when the first query starts, and never changed.

The state of a key is in the state partition that the plan assigns to the key. Under another plan,
rows of the key would go to another partition, find no state and start from nothing. So each query
records beside the plan, before its first row is placed, which plan it follows. A query whose
checkpoint has epochs is refused if it has no such record, or if its record names another plan.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.groups.group_plans import BY_HASH, COPY, PINNED
from evenkey.spark.plans.arrays import encoded
from evenkey.spark.plans.places import mark_at
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.plans.tables import CorruptTableError, RoutingTable, layout_kept
from evenkey.spark.sessions.access import at_state
from evenkey.spark.sessions.before_epoch import before_epoch
from evenkey.spark.sessions.task_slots import check_partitions

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkey.core.stores import SharedMark, Store
    from evenkey.groupings import Snapshot
    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.groups.rows import Rows
    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.task_id import TaskId

logger = logging.getLogger(__name__)

_QUERIES = "queries"
_WHY = "each key's state is in one of Spark's state partitions, whose number the checkpoint pins"


@dataclass(frozen=True, kw_only=True)
class PinnedPlan(Fixed):
    """The plan that all queries with the same `state` follow, with a record of these queries.

    Parameters
    ----------
    memory
        Arrays of the plan.
    tables
        Tables of plans with whole keys; the pinned plan is in a folder below them.
    mark
        Mark with which a task checks that it sees the state.
    first
        Function that a task calls before the rows of epoch 0, also if that epoch runs again; None:
        nothing is called.
    """

    tables: RoutingTables
    mark: SharedMark
    first: Callable[[], object] | None = None

    def decide(self, task: TaskId) -> RoutingTable:
        """Return the plan after checking that the query began with it; epoch 0 records the plan.

        Raises
        ------
        ConfigurationError
            The query began with another plan, or with the plan of another storage location, or
            `first` raised this error.
        RunError
            The state cannot be read or written, or this host does not see the state, or `first`
            raised this error.
        """
        self.mark.check()
        if task.epoch == 0 and self.first is not None:
            self.first()
        store = queries_of(self.tables)
        name, digest = f"{task.query}.json", digest_of(self.memory)
        try:
            if task.epoch == 0 and store.create(name, json.dumps({"plan": digest}).encode()):
                return self.recall(task)
            content = store.find(name)
            known = None if content is None else json.loads(content)["plan"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = (
                f"{store.path(name)}, which records the plan that this query follows, cannot be "
                f"read or written ({error}): {_ways_out(self.tables)}"
            )
            raise RunError(message) from error
        if known == digest:
            return self.recall(task)
        what = (
            "holds no plan of this query, whose checkpoint has states of an earlier run"
            if known is None
            else "holds another plan than the one that placed the states in this checkpoint"
        )
        message = f"state {self.tables.store.url} {what}: {_ways_out(self.tables)}"
        raise ConfigurationError(message)

    def checked(self, keys: Keys) -> Keys:
        """Make a stream's rows wait until one task has checked that the query follows this plan."""
        return replace(keys, frame=before_epoch(keys.frame, self.decide, beneath_state=True))


@dataclass(frozen=True)
class Begun:
    """Records the queries that begin with a moved state and need no plan, as on one worker.

    Parameters
    ----------
    queries
        Store with a record of each query.
    first
        As for `PinnedPlan`.
    """

    queries: Store
    first: Callable[[], object]

    def __call__(self, task: TaskId) -> None:
        """Check and record a query in a task, before the rows of epoch 0.

        Raises
        ------
        ConfigurationError
            `first` raised this error.
        RunError
            The state cannot be read or written, or `first` raised this error.
        """
        if task.epoch:
            return
        self.first()
        name = f"{task.query}.json"
        try:
            self.queries.create(name, json.dumps({"plan": None}).encode())
        except OSError as error:
            message = (
                f"{self.queries.path(name)}, which records that this query has begun, cannot be "
                f"written ({error}): make it writable for all executors"
            )
            raise RunError(message) from error

    def checked(self, keys: Keys) -> Keys:
        """Make a stream's rows wait until one task has recorded the query."""
        return replace(keys, frame=before_epoch(keys.frame, self, beneath_state=True))


def pinned_plan(rows: Rows, method: str, first: Callable[[], object] | None = None) -> PinnedPlan:
    """Return the plan that keys with state follow permanently; the first query that starts pins it.

    Without a plan in `state`, the query pins one that places keys by their hash.

    Parameters
    ----------
    rows
        Rows of a stream, and their keys.
    method
        Name of the method that needs the plan, for messages.
    first
        As for `PinnedPlan`.

    Raises
    ------
    ConfigurationError
        There is no `state`, or its plan is for other keys or workers. Or the number of Spark's
        state partitions is not the number of workers.
    RunError
        The state cannot be read or written, or the pinned plan is lost.
    """
    check_partitions(rows.df.sparkSession, rows.workers, method)
    tables = rows.plans.tables("whole")
    if tables is None:
        message = (
            f"{method}: state = None: it needs the location of the plan that says on which worker "
            "each key stays; pass state=DIRECTORY, with a plan that eks.fit made there of earlier "
            "rows, or empty"
        )
        raise ConfigurationError(message)
    why = f"{method}: {_WHY}"
    session = rows.df.sparkSession
    memory = at_state(session, functools.partial(_pin, tables, why, rows.plans.by_hash()))
    about = rows.plans.check(memory, tables.store.url)
    if about is not None and about.origin == BY_HASH:
        logger.warning(
            "%s: the plan in %s was made of %s; eks.rebalance balances them",
            method,
            tables.store.url,
            about.origin,
        )
    return PinnedPlan(
        memory=memory, tables=tables, mark=mark_at(session, tables.store), first=first
    )


def queries_of(tables: RoutingTables) -> Store:
    """Return the store with a record of each query that follows the pinned plan."""
    return tables.under(PINNED).under(_QUERIES).store


def digest_of(memory: Snapshot) -> str:
    """Compute a digest of the content of a plan: 128 bits in hexadecimal."""
    return hashlib.blake2b(encoded(dict(sorted(memory.items()))), digest_size=16).hexdigest()


def _pin(tables: RoutingTables, why: str, otherwise: Snapshot) -> Snapshot:
    """Pin the latest plan unless a plan is pinned already; return the pinned plan.

    If there is no plan, the plan `otherwise` is pinned. The pinned plan is stored twice: if one of
    the two objects is lost, corrupt or not the plan that queries began with, the other replaces it.
    """
    pinned = tables.under(PINNED)
    copy = pinned.under(COPY)
    with layout_kept(tables, why):
        found, broken = _found(pinned)
        kept, also_broken = _found(copy)
    if found is not None and kept is not None and _differ(found, kept):
        known = _followed(pinned)
        if known and digest_of(found.memory) not in known:
            found, broken = None, "not the one that queries began with"
        if digest_of(kept.memory) not in known:
            kept, also_broken = None, broken or "not the one that queries began with"
    if found is None and kept is not None:
        logger.warning(
            "pinned plan %s was %s: its copy replaces it", pinned.path(0), broken or "lost"
        )
        pinned.put(0, kept)
        found = kept
    if found is None and (broken or also_broken or pinned.under(_QUERIES).names()):
        state = f"corrupt ({broken or also_broken})" if broken or also_broken else "lost"
        message = f"pinned plan {pinned.path(0)} is {state}, and so is its copy: "
        raise RunError(message + _ways_out(tables))
    if found is None:
        latest = tables.read(0)
        found = pinned.pin(0, latest if latest.memory else RoutingTable(otherwise))
    if kept is None:
        copy.put(0, found)
    return found.memory


def _differ(one: RoutingTable, other: RoutingTable) -> bool:
    return digest_of(one.memory) != digest_of(other.memory)


def _followed(pinned: RoutingTables) -> set[str]:
    """Return the digests of the plans that queries began with."""
    queries = pinned.under(_QUERIES).store
    try:
        return {json.loads(queries.read(name))["plan"] for name in queries.names()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{queries.url} cannot be read ({error}): restore it, or start with a new state"
        raise RunError(message) from error


def _found(tables: RoutingTables) -> tuple[RoutingTable | None, str]:
    """Return the stored table (None: missing or corrupt), and a text that says what is corrupt."""
    try:
        return tables.find(0), ""
    except CorruptTableError as error:
        return None, error.reason


def _ways_out(tables: RoutingTables) -> str:
    return (
        f"restore {tables.store.path(PINNED)} as it was when the query began, or start with a new "
        "checkpoint and a new state, where all keys begin without state"
    )
