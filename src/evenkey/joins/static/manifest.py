"""Manifests: the identity and the contents of a version of the static side."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import pyarrow as pa

from evenkey.joins.static.fingerprint import Fingerprint
from evenkey.joins.static.objects import fields_of, with_format
from evenkey.spark.sessions import returned


def checksum(content: bytes) -> str:
    """Compute the BLAKE2b checksum, 128 bits in hexadecimal."""
    return blake2b(content, digest_size=16).hexdigest()


@returned
class StaticVersion(NamedTuple):
    """Identity of a version of the static side, unique even if the store is created again.

    Parameters
    ----------
    number
        Number of the version in its store: 1, 2, ...
    identity
        Random text. If a store is deleted and created again, its versions have other identities.
    """

    number: int
    identity: str


@returned
@dataclass(frozen=True)
class StaticFile:
    """One file of a version, as the manifest describes it.

    Parameters
    ----------
    rows
        Number of rows. A partition without rows has no file.
    bytes
        Length of the file.
    checksum
        BLAKE2b of the file, 128 bits in hexadecimal.
    """

    rows: int
    bytes: int
    checksum: str


@returned
@dataclass(frozen=True)
class Manifest:
    """The contents of a version.

    Parameters
    ----------
    version
        The version.
    partitioning
        How rows were assigned to partitions, as JSON.
    columns
        Spark's type of each column that the version has, by name, in order.
    files
        One entry per partition, in order of the partitions.
    index
        The file of the replicated index; None: the join has none.
    schema
        Schema of the partitions' rows.
    fingerprint
        Fingerprint of the DataFrame that was written; None: not computed, as with ``reuse``.
    refreshed
        Whether `refresh` wrote this version. If so, programs may still pass the previous DataFrame
        to `balanced_join`.
    host
        The host that wrote the version.
    """

    version: StaticVersion
    partitioning: dict[str, Any]
    columns: dict[str, str]
    files: tuple[StaticFile, ...]
    index: StaticFile | None
    schema: pa.Schema
    fingerprint: Fingerprint | None = None
    refreshed: bool = False
    host: str = ""

    @property
    def partitions(self) -> int:
        """Number of partitions, P."""
        return len(self.files)

    @property
    def rows(self) -> int:
        """Number of rows in all partitions; a row may be in several."""
        return sum(each.rows for each in self.files)

    @property
    def shape(self) -> str:
        """Checksum of the columns and the partitioning, 128 bits in hexadecimal.

        A running join can switch only to a version with the same shape.
        """
        fields = [self.partitions, self.partitioning, list(self.columns.items())]
        return checksum(json.dumps(fields).encode())

    def to_bytes(self) -> bytes:
        """Encode the manifest as JSON."""
        schema = base64.b64encode(self.schema.serialize().to_pybytes()).decode()
        fields = with_format({**asdict(self), "schema": schema})
        return json.dumps(fields, indent=1).encode()

    @classmethod
    def from_bytes(cls, content: bytes, path: str = "manifest") -> Manifest:
        """Decode a manifest that `to_bytes` encoded; `path` is its location, for error messages.

        Raises
        ------
        ConfigurationError
            Another version of evenkey wrote it.
        """
        fields = fields_of(content, path)
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(fields["schema"])))
        files = tuple(StaticFile(**each) for each in fields["files"])
        index = None if fields["index"] is None else StaticFile(**fields["index"])
        known = fields["fingerprint"]
        return cls(
            StaticVersion(*fields["version"]),
            fields["partitioning"],
            fields["columns"],
            files,
            index,
            schema,
            None if known is None else Fingerprint(*known),
            fields["refreshed"],
            fields["host"],
        )
