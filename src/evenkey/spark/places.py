"""Where routing tables lie: at the place that a user names, or a temporary one of a session's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.checking import check_path
from evenkey.core.stores import LocalStore, Store
from evenkey.spark.listening import listen
from evenkey.spark.meeting import meet_at
from evenkey.spark.routing_table import RoutingTables
from evenkey.spark.sessions import TABLES, temporary_directory
from evenkey.spark.state import store_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenkey.spark.meeting import Meeting


def check_state(state: object, *, needed: bool = False) -> None:
    """Make sure that a state is a place or a store, or None unless it is needed.

    Raises
    ------
    ConfigurationError
        It is not.
    """
    if not isinstance(state, Store) and (needed or state is not None):
        check_path("state", state)


def tables_of(
    session: SparkSession, state: str | Path | Store | None, grouping: str, workers: int
) -> tuple[RoutingTables, Meeting]:
    """Give the routing tables of a stream, and the meeting by which its tasks see that they do.

    Parameters
    ----------
    session
        Of the stream.
    state
        Where they lie; None: in a temporary directory, which goes when its query ends.
    grouping, workers
        What they are for.

    Raises
    ------
    ConfigurationError
        `state` is no place, or no store is known for its scheme.
    RunError
        The state cannot be written.
    """
    if state is not None:
        store = store_of(session, state)
        return RoutingTables(store, grouping, workers), meet_at(session, store)
    directory = Path(temporary_directory(session, TABLES))
    listen(session)
    # Nothing is written into its own directory before a query runs: it may never.
    meeting = meet_at(session, LocalStore(directory.parent), chosen=False)
    return RoutingTables(directory, grouping, workers), meeting
