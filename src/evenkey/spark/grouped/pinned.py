"""Plans of streams with state: pinned when the first query starts, and never changed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from evenkey.errors import ConfigurationError
from evenkey.spark.pinned_layout import layout_kept
from evenkey.spark.state_access import at_state

if TYPE_CHECKING:
    from evenkey.groupings import Snapshot
    from evenkey.spark.grouped.rows import Rows
    from evenkey.spark.routing_table import RoutingTables

_PINNED = "pinned"
_WHY = "each key's state lies in one of Spark's state partitions, whose number the checkpoint pins"


def pinned_plan(rows: Rows, method: str) -> Snapshot:
    """Give the plan that keys with state follow for good: of several starts the first one's.

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
        The state cannot be read or written.
    """
    partitions = rows.shuffle_partitions
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
    memory = at_state(rows.df.sparkSession, functools.partial(_pin, tables, why))
    if not memory:
        message = f"{method}: there is no plan in {tables.store.url}; {fitting} first"
        raise ConfigurationError(message)
    rows.plans.check(memory, tables.store.url)
    return memory


def _pin(tables: RoutingTables, why: str) -> Snapshot:
    """Pin the latest plan unless one is; give the one that is pinned."""
    pinned = tables.under(_PINNED)
    with layout_kept(tables, why):
        found = pinned.find(0)
    if found is None:
        found = tables.read(0)
        if found.memory:
            found = pinned.pin(0, found)
    return found.memory
