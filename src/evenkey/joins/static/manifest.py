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
    """BLAKE2b, 128 bits in hexadecimal."""
    return blake2b(content, digest_size=16).hexdigest()


@returned
class StaticVersion(NamedTuple):
    """A version of the static side, distinct from any other with its number and location.

    Parameters
    ----------
    number
        From 1, in the order of the versions of a store.
    identity
        Random, so that a store that is deleted and created again has other versions.
    """

    number: int
    identity: str


@returned
@dataclass(frozen=True)
class StaticFile:
    """One file of a version, as the manifest knows it.

    Parameters
    ----------
    rows
        How many rows it has; a partition without rows has no file.
    bytes
        Length of its file.
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
        Which one it is.
    partitioning
        How rows were assigned to partitions, as JSON.
    columns
        Spark's type of each column that was kept, by name, in order.
    files
        One entry a partition, in order of the partitions.
    index
        The file of the replicated index; None where the join has none.
    schema
        Of the partitions' rows.
    fingerprint
        Of the DataFrame that was written; None if it was not computed, as with ``reuse``.
    refreshed
        Whether it replaced the previous version, whose DataFrame programs may still pass.
    host
        The host that wrote it.
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
        """How many partitions there are, P."""
        return len(self.files)

    @property
    def rows(self) -> int:
        """How many rows all partitions have; a row may lie in several."""
        return sum(each.rows for each in self.files)

    @property
    def shape(self) -> str:
        """The same for versions that one join can use one after the other: 128 bits in hexadecimal.

        Such versions have the same columns, and divide them in the same way.
        """
        fields = [self.partitions, self.partitioning, list(self.columns.items())]
        return checksum(json.dumps(fields).encode())

    def to_bytes(self) -> bytes:
        """Encode it as JSON."""
        schema = base64.b64encode(self.schema.serialize().to_pybytes()).decode()
        fields = with_format({**asdict(self), "schema": schema})
        return json.dumps(fields, indent=1).encode()

    @classmethod
    def from_bytes(cls, content: bytes, path: str = "manifest") -> Manifest:
        """Decode what `to_bytes` encoded; `path` is where it lies, for messages.

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
