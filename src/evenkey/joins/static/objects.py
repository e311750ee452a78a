"""Write and read the objects in a join's state, with one-line errors that say what to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core import stores
from evenkey.core.checking import check_path
from evenkey.core.errors import RunError
from evenkey.core.stores import SHARED, Store, at_once
from evenkey.core.whole_files import check_format
from evenkey.spark import store_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession


_REMEDY = (
    f"state must be {SHARED}; pass it as state=... (if the state was deleted, call "
    "balanced_join again)"
)
"""What to do if a host does not see an object in the state, for error messages."""
FORMAT = 2
"""Version number of the format of the objects in a join's state."""


def with_format(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Add the format's version number to the fields of a JSON object."""
    return {"format": FORMAT, **fields}


def fields_of(content: bytes, path: str) -> dict[str, Any]:
    """Read the fields of a JSON object that `with_format` made.

    Raises
    ------
    ConfigurationError
        Another version of evenkey wrote it.
    ValueError
        The content is not a JSON object.
    """
    fields: dict[str, Any] = json.loads(content)
    if not isinstance(fields, dict):
        message = "it is not a JSON object"
        raise ValueError(message)  # noqa: TRY004 - what JSON raises too
    number = fields.pop("format", None)
    check_format(
        path, number, FORMAT, "pass a new location as state, and start with a new checkpoint"
    )
    return fields


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


def parquet(table: pa.Table) -> bytes:
    """Encode a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


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


def read_shared(store: Store, name: str, host: str) -> bytes:
    """Read an object that `host` wrote or has seen; raise an error if it is not visible here."""
    return stores.read_shared(store, name, f"host {host}", _REMEDY)


def unseen(path: str, writer: str) -> RunError:
    """Make the error for a host that does not see an object that another host wrote."""
    return stores.unseen(path, writer, _REMEDY)
