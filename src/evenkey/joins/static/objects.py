"""Formats of the objects in a join's state, and the error for a host that does not see one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core import stores
from evenkey.core.stores import SHARED
from evenkey.core.whole_files import check_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.core.errors import RunError
    from evenkey.core.stores import Store

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


def parquet(table: pa.Table) -> bytes:
    """Encode a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_shared(store: Store, name: str, host: str) -> bytes:
    """Read an object that `host` wrote or has seen; raise an error if it is not visible here."""
    return stores.read_shared(store, name, f"host {host}", _REMEDY)


def unseen(path: str, writer: str) -> RunError:
    """Make the error for a host that does not see an object that another host wrote."""
    return stores.unseen(path, writer, _REMEDY)
