"""Plans of streams with state: pinned when the first query starts, and never changed.

Each key's state lies in the state partition that the plan gives. Under another plan the key would
look for its state elsewhere, find none and begin again from nothing. So each query writes down,
before its first row is placed, by which plan it goes. A query that has epochs in its checkpoint and
is not known beside the plan, or is known with another plan, is refused.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.plans.arrays import encoded
from evenkey.spark.plans.places import mark_at
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.plans.tables import CorruptTableError, RoutingTable, layout_kept
from evenkey.spark.sessions.access import at_state
from evenkey.spark.sessions.before_epoch import before_epoch
from evenkey.spark.sessions.task_slots import shuffle_partitions

if TYPE_CHECKING:
    from evenkey.core.stores import SharedMark
    from evenkey.groupings import Snapshot
    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.groups.rows import Rows
    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.task_id import TaskId

logger = logging.getLogger(__name__)

_PINNED, _COPY, _QUERIES = "pinned", "copy", "queries"
_WHY = "each key's state lies in one of Spark's state partitions, whose number the checkpoint pins"


@dataclass(frozen=True, kw_only=True)
class PinnedPlan(Fixed):
    """The plan that all queries of a state follow, and which queries these are.

    Parameters
    ----------
    memory
        The plan's arrays.
    tables
        Of the keys: the plan is pinned below them.
    mark
        By which a task makes sure that it sees the state.
    """

    tables: RoutingTables
    mark: SharedMark

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the plan, after making sure that the query began with it; the first epoch notes it.

        Raises
        ------
        ConfigurationError
            The query began with another plan, or with the plan of another place.
        RunError
            The state cannot be read or written, or this host does not see it.
        """
        self.mark.check()
        store = self.tables.under(_PINNED).under(_QUERIES).store
        name, digest = f"{task.query}.json", digest_of(self.memory)
        try:
            if task.epoch == 0 and store.create(name, json.dumps({"plan": digest}).encode()):
                return self.recall(task)
            content = store.find(name)
            known = None if content is None else json.loads(content)["plan"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = (
                f"{store.path(name)}, which says by which plan this query goes, cannot be read or "
                f"written ({error}): {_ways_out(self.tables)}"
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
        """Let a stream's rows wait until the query is known to go by this plan."""
        return replace(keys, frame=before_epoch(keys.frame, self.decide, beneath_state=True))


def pinned_plan(rows: Rows, method: str) -> PinnedPlan:
    """Give the plan that keys with state follow permanently: of several starts the first one's.

    Parameters
    ----------
    rows
        Of a stream.
    method
        That asks, for messages.

    Raises
    ------
    ConfigurationError
        There is no `state`, or no plan in it, or it is for other keys or workers; Spark has another
        number of state partitions than there are workers.
    RunError
        The state cannot be read or written, or the pinned plan is lost.
    """
    partitions = shuffle_partitions(rows.df.sparkSession)
    if partitions != rows.workers:
        message = (
            f"spark.sql.shuffle.partitions = {partitions}: {method} needs as many partitions as "
            f"workers; set it to {rows.workers} before the query starts"
        )
        raise ConfigurationError(message)
    tables = rows.plans.tables("whole")
    fitting = (
        f"make a plan of earlier rows with eks.fit(earlier, {list(rows.keys.shown)}, 'whole', "
        f"{rows.workers}, state=DIRECTORY)"
    )
    if tables is None:
        message = (
            f"{method}: state = None: keys with state stay on the workers of one plan, which must "
            f"be kept; {fitting} and pass the same state here"
        )
        raise ConfigurationError(message)
    why = f"{method}: {_WHY}"
    session = rows.df.sparkSession
    memory = at_state(session, functools.partial(_pin, tables, why))
    if not memory:
        message = f"{method}: there is no plan in {tables.store.url}; {fitting} first"
        raise ConfigurationError(message)
    rows.plans.check(memory, tables.store.url)
    return PinnedPlan(memory=memory, tables=tables, mark=mark_at(session, tables.store))


def digest_of(memory: Snapshot) -> str:
    """Name a plan by its content: 128 bits in hexadecimal."""
    return hashlib.blake2b(encoded(dict(sorted(memory.items()))), digest_size=16).hexdigest()


def _pin(tables: RoutingTables, why: str) -> Snapshot:
    """Pin the latest plan unless one is; give the one that is pinned.

    The plan lies there twice: where one of the two is lost or corrupt, the other one replaces it.
    """
    pinned = tables.under(_PINNED)
    copy = pinned.under(_COPY)
    with layout_kept(tables, why):
        found, broken = _found(pinned)
        kept, also_broken = _found(copy)
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
        found = tables.read(0)
        if not found.memory:
            return {}
        found = pinned.pin(0, found)
    if kept is None or digest_of(kept.memory) != digest_of(found.memory):
        copy.put(0, found)
    return found.memory


def _found(tables: RoutingTables) -> tuple[RoutingTable | None, str]:
    """Give the table that is there, and what is wrong with it."""
    try:
        return tables.find(0), ""
    except CorruptTableError as error:
        return None, error.reason


def _ways_out(tables: RoutingTables) -> str:
    return (
        f"restore {tables.store.path(_PINNED)} as it was when the query began, or start with a new "
        "checkpoint and a new state, where all keys begin without state"
    )
