"""Objects of a join's state: written and read with errors of one line, and seen by all hosts."""

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
    f"state must be {SHARED}; pass it as state=... (or what was there is deleted: then call "
    "balanced_join again)"
)
"""What to do where a host does not see what lies there, for messages."""
FORMAT = 2
"""Of the objects in a join's state."""


def with_format(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Add the number of the format to the fields of an object."""
    return {"format": FORMAT, **fields}


def fields_of(content: bytes, path: str) -> dict[str, Any]:
    """Read the fields of a JSON object that `with_format` made.

    Raises
    ------
    ConfigurationError
        Another version of evenkey wrote it.
    ValueError
        It is no JSON object.
    """
    fields: dict[str, Any] = json.loads(content)
    if not isinstance(fields, dict):
        message = "it is no JSON object"
        raise ValueError(message)  # noqa: TRY004 - what JSON raises too
    number = fields.pop("format", None)
    check_format(
        path, number, FORMAT, "pass a new location as state, and start with a new checkpoint"
    )
    return fields


def state_at(session: SparkSession, state: str | Path | Store, name: str = "state") -> Store:
    """Give the store of a join's state, or of what else an option names.

    Raises
    ------
    ConfigurationError
        It is no place, or no store is known for its scheme.
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
    """Read an object; None where it is not there.

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
    """Write an object whole, in place of one that is there.

    Raises
    ------
    RunError
        It cannot be written.
    """
    try:
        store.put(name, content)
    except OSError as error:
        raise _unwritable(store, name, error) from error


def create(store: Store, name: str, content: bytes) -> bool:
    """Write an object unless it is there, and say whether this call wrote it.

    Raises
    ------
    RunError
        It cannot be written.
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
        One of them cannot be deleted.
    """
    try:
        at_once(store.delete, names)
    except OSError as error:
        message = f"{store} cannot be cleared ({error}): check its storage, then start again"
        raise RunError(message) from error


def _unwritable(store: Store, name: str, error: OSError) -> RunError:
    return RunError(f"{store.path(name)} cannot be written ({error}): free or choose a place")


def read_shared(store: Store, name: str, host: str) -> bytes:
    """Read what a host has written, or was the last to see; raise an error if it is not there."""
    return stores.read_shared(store, name, f"host {host}", _REMEDY)


def unseen(path: str, writer: str) -> RunError:
    """Make the error of a host that does not see what another one wrote."""
    return stores.unseen(path, writer, _REMEDY)
