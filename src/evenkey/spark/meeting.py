"""The meeting: whoever keeps state makes sure that all others see it, in the first epoch.

The driver (over Connect a task) puts an object into the state before a query starts; each task that
reads or writes state must find it. So a directory that each host has for itself is one clear error
and not a stream that learns nothing.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import os
import platform
import uuid
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.errors import RunError
from evenkey.core.stores import SHARED, STATE_MEND, meet
from evenkey.spark.state_access import at_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store

_PLACE = "_meeting"
_KEPT = 100
"""Meetings that are kept in a store: one for each program that has used it."""

_found: set[str] = set()
"""Where this process has found one; what it sees once it sees as long as it lives."""


class Meeting(NamedTuple):
    """An object that all who share a state must see.

    Parameters
    ----------
    store
        The state.
    name
        Of the object.
    host
        Which wrote it.
    chosen
        Whether the user chose the place; otherwise it is a temporary one.
    """

    store: Store
    name: str
    host: str
    chosen: bool = True

    def check(self) -> None:
        """Make sure that this process sees the object.

        Raises
        ------
        RunError
            It does not; the message names host, path and mend.
        """
        path = self.store.path(self.name)
        if path in _found:
            return
        meet(self.store, self.name, f"host {self.host}", self._mend)
        _found.add(path)

    @property
    def _mend(self) -> str:
        return STATE_MEND if self.chosen else f"pass state=..., {SHARED}"


def meet_at(session: SparkSession, store: Store, *, chosen: bool = True) -> Meeting:
    """Put the object of a meeting into a store.

    It is one a program and store, however often this is called; of earlier programs the last 100
    are kept.

    Parameters
    ----------
    session
        Whose driver (over Connect one of whose tasks) puts it.
    store
        The state.
    chosen
        Whether the user chose the place.

    Raises
    ------
    RunError
        It cannot be written.
    """
    name = f"{_PLACE}/{_program()}"
    host = at_state(session, functools.partial(_put, store, name))
    return Meeting(store, name, host, chosen)


@functools.cache
def _program() -> str:
    """Name this program; names are in the order in which programs began."""
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
        for old in store.names(_PLACE)[:-_KEPT]:
            store.delete(old)
    except OSError as error:
        message = (
            f"state {store.path(name)} cannot be written ({error}): free it or choose another place"
        )
        raise RunError(message) from error
    return platform.node()
