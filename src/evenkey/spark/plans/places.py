"""Find where state is stored: at the location that a user passes, or in a temporary directory."""

from __future__ import annotations

import datetime as dt
import functools
import json
import os
import platform
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.checking import check_path
from evenkey.core.errors import RunError
from evenkey.core.stores import SHARED, STATE_REMEDY, LocalStore, SharedMark, Store, store_at
from evenkey.spark.plans.tables import RoutingTables
from evenkey.spark.sessions.access import at_state
from evenkey.spark.sessions.query_events import listen
from evenkey.spark.sessions.starting import TABLES, temporary_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_HADOOP = "spark.hadoop."
_FILE_SYSTEMS = ("spark.hadoop.fs.", "spark.hadoop.dfs.", "spark.hadoop.google.")
MARKS = "_shared_storage_check"
"""Folder of the marks in a store."""
_MARKS_KEPT = 100
"""Number of marks to keep in a store; each program that uses the store writes one mark."""


def check_state(state: object, *, needed: bool = False) -> None:
    """Check that `state` is a path, a URI or a store; None is allowed unless `needed`.

    Raises
    ------
    ConfigurationError
        `state` is something else.
    """
    if not isinstance(state, Store) and (needed or state is not None):
        check_path("state", state)


def store_of(
    session: SparkSession,
    place: str | Path | Store,
    settings: Mapping[str, str] | None = None,
) -> Store:
    """Return the store at a location, with the session's settings, without connecting to it.

    Parameters
    ----------
    session
        A classic session or one of Spark Connect. Its ``spark.hadoop.fs.*`` and
        ``spark.hadoop.dfs.*`` settings become part of the store. A process that uses the store
        reads missing settings, such as credentials, from its environment.
    place
        A path, a URI, or a store, which is returned as it is.
    settings
        Settings that the session does not show, such as ``{"fs.s3a.secret.key": ...}``: a Connect
        server hides settings that match ``spark.redaction.regex``.

    Raises
    ------
    ConfigurationError
        `place` is not a location, or no store supports its scheme.

    Examples
    --------
    >>> store = store_of(spark, "/tmp/evenkey-state")
    >>> store.url
    '/tmp/evenkey-state'
    """
    shown = {
        name.removeprefix(_HADOOP): value
        for name, value in session.conf.getAll.items()
        if name.startswith(_FILE_SYSTEMS)
    }
    return store_at(place, {**shown, **(settings or {})})


def tables_of(
    session: SparkSession, state: str | Path | Store | None, grouping: str, workers: int
) -> tuple[RoutingTables, SharedMark]:
    """Return the routing tables of a stream, and the mark (`mark_at`) that its tasks must see.

    Parameters
    ----------
    session
        Session of the stream.
    state
        Storage location of the tables; None: a temporary directory, which is deleted when the query
        ends.
    grouping, workers
        Grouping and worker count of the tables.

    Raises
    ------
    ConfigurationError
        `state` is not a location, or no store supports its scheme.
    RunError
        The state cannot be written.
    """
    if state is not None:
        store = store_of(session, state)
        return RoutingTables(store, grouping, workers), mark_at(session, store)
    directory = Path(temporary_directory(session, TABLES))
    listen(session)
    # The mark goes into the parent directory: the query's own directory is first written when the
    # query runs, which may never happen.
    mark = mark_at(session, LocalStore(directory.parent), chosen=False)
    return RoutingTables(directory, grouping, workers), mark


def mark_at(session: SparkSession, store: Store, *, chosen: bool = True) -> SharedMark:
    """Write a mark into a store: an object by which tasks check that they use the same storage.

    A program writes one mark per store, however often it calls this function. The marks of the last
    100 programs are kept.

    Parameters
    ----------
    session
        Session whose driver writes the mark. Over Connect, a task of this session writes it.
    store
        Store of the state.
    chosen
        Whether the user chose the location. Error messages about the mark then name another fix.

    Raises
    ------
    RunError
        The mark cannot be written.
    """
    name = f"{MARKS}/{_program()}"
    host = at_state(session, functools.partial(_put, store, name))
    remedy = STATE_REMEDY if chosen else f"pass state=..., {SHARED}"
    return SharedMark(store, name, host, remedy)


@functools.cache
def _program() -> str:
    """Return a name for this program; sorted names are in the order in which programs started."""
    now = dt.datetime.now(dt.UTC)
    return f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:12]}"


def _put(store: Store, name: str) -> str:
    who = {
        "host": platform.node(),
        "process": os.getpid(),
        "time": dt.datetime.now(dt.UTC).isoformat(),
    }
    try:
        store.put(name, json.dumps(who).encode())
        for old in store.names(MARKS)[:-_MARKS_KEPT]:
            store.delete(old)
    except OSError as error:
        message = (
            f"state {store.path(name)} cannot be written ({error}): free space there or choose "
            "another storage location"
        )
        raise RunError(message) from error
    return platform.node()
