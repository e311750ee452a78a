"""Read and write the objects in a state, with one-line errors that say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.checking import check_path
from evenkey.core.errors import RunError
from evenkey.core.stores import Store, at_once
from evenkey.spark.plans.places import store_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession


def state_at(session: SparkSession, state: str | Path | Store, name: str = "state") -> Store:
    """Return the store at the location in an option; `name` is the option, for error messages.

    Raises
    ------
    ConfigurationError
        The value is not a location, or no store supports its scheme.
    """
    if not isinstance(state, Store):
        check_path(name, state)
    return store_of(session, state)


def find(store: Store, name: str) -> bytes | None:
    """Read an object; None if it does not exist.

    Raises
    ------
    RunError
        The store cannot be read.
    """
    try:
        return store.find(name)
    except OSError as error:
        message = (
            f"{store.path(name)} cannot be read ({error}): check its storage, then start again"
        )
        raise RunError(message) from error


def put(store: Store, name: str, content: bytes) -> None:
    """Write a whole object; an object of the same name is replaced.

    Raises
    ------
    RunError
        The object cannot be written.
    """
    try:
        store.put(name, content)
    except OSError as error:
        raise _unwritable(store, name, error) from error


def create(store: Store, name: str, content: bytes) -> bool:
    """Write an object unless it exists already, and return whether this call wrote it.

    Raises
    ------
    RunError
        The object cannot be written.
    """
    try:
        return store.create(name, content)
    except OSError as error:
        raise _unwritable(store, name, error) from error


def delete_all(store: Store, names: Sequence[str]) -> None:
    """Delete objects, several concurrently.

    Raises
    ------
    RunError
        An object cannot be deleted.
    """
    try:
        at_once(store.delete, names)
    except OSError as error:
        message = f"{store} cannot be cleared ({error}): check its storage, then start again"
        raise RunError(message) from error


def _unwritable(store: Store, name: str, error: OSError) -> RunError:
    return RunError(
        f"{store.path(name)} cannot be written ({error}): free space or choose another location"
    )
