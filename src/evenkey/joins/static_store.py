"""Static store: versions of the static side as immutable, checksummed Parquet partitions."""

from __future__ import annotations

import base64
import json
import re
import shutil
import uuid
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.checking import check_path
from evenkey.errors import ConfigurationError, RunError
from evenkey.joins.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Manifest", "StaticFile", "StaticStore", "StaticWriter"]

_VERSION = re.compile(r"v(\d+)")
_MANIFEST = "manifest.json"


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


@dataclass(frozen=True)
class Manifest:
    """What a version holds.

    Parameters
    ----------
    version
        Its number, from 1.
    partitioning
        How rows found their partition, as JSON can hold it.
    files
        One entry a partition, in order of the partitions.
    index
        The file of the replicated index; None where the join has none.
    schema
        Of the partitions' rows.
    """

    version: int
    partitioning: dict[str, Any]
    files: tuple[StaticFile, ...]
    index: StaticFile | None
    schema: pa.Schema

    @property
    def partitions(self) -> int:
        """How many partitions there are, P."""
        return len(self.files)

    @property
    def rows(self) -> int:
        """How many rows all partitions have; a row may lie in several."""
        return sum(each.rows for each in self.files)

    def to_bytes(self) -> bytes:
        """Encode it as JSON."""
        schema = base64.b64encode(self.schema.serialize().to_pybytes()).decode()
        fields = {**asdict(self), "schema": schema}
        return json.dumps(fields, indent=1).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """Decode what `to_bytes` encoded."""
        fields = json.loads(content)
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(fields["schema"])))
        files = tuple(StaticFile(**each) for each in fields["files"])
        index = None if fields["index"] is None else StaticFile(**fields["index"])
        return cls(fields["version"], fields["partitioning"], files, index, schema)


class StaticWriter:
    """Writes the partitions of a new version; picklable, so that tasks can do so.

    Nobody sees the version before `StaticStore.commit`.
    """

    def __init__(self, directory: Path, version: int) -> None:
        self.directory = directory
        self.version = version

    def write(self, partition: int | None, table: pa.Table) -> StaticFile:
        """Write a partition, or the index where that is None, and say what was written.

        A task that runs twice replaces its file.

        Raises
        ------
        RunError
            The directory cannot be written.
        """
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        content = sink.getvalue().to_pybytes()
        write_whole(self.directory / _name(partition), content)
        return StaticFile(table.num_rows, len(content), _checksum(content))


class StaticStore:
    """The versions of a join's static side, in a directory.

    Parameters
    ----------
    directory
        Reachable under the same path from driver and executors, as a checkpoint is. Made
        when the first version is written.
    """

    def __init__(self, directory: str | Path) -> None:
        check_path("directory", directory)
        self.directory = Path(directory)

    def versions(self) -> list[int]:
        """Numbers of the versions that are complete, ascending."""
        found = (_VERSION.fullmatch(path.name) for path in self.directory.glob("v*"))
        return sorted(int(match[1]) for match in found if match)

    def latest(self) -> int:
        """Number of the newest version.

        Raises
        ------
        RunError
            There is none.
        """
        versions = self.versions()
        if not versions:
            message = f"there is no static data in {self.directory}: write it first"
            raise RunError(message)
        return versions[-1]

    def begin(self) -> StaticWriter:
        """Begin a new version."""
        version = max(self.versions(), default=0) + 1
        return StaticWriter(self.directory / f".v{version}-{uuid.uuid4().hex}", version)

    def commit(
        self,
        writer: StaticWriter,
        files: Mapping[int, StaticFile],
        *,
        partitions: int,
        partitioning: Mapping[str, Any],
        schema: pa.Schema,
        index: StaticFile | None = None,
    ) -> Manifest:
        """Make a version visible, whole.

        Parameters
        ----------
        writer
            That wrote it.
        files
            What it wrote, by partition; one without rows needs no file.
        partitions
            How many there are, P.
        partitioning
            How rows found their partition.
        schema
            Of the rows.
        index
            The replicated index, if there is one.

        Raises
        ------
        ConfigurationError
            Another writer has made the same version meanwhile.
        RunError
            The directory cannot be written.
        """
        nothing = StaticFile(0, 0, "")
        entries = tuple(files.get(number, nothing) for number in range(partitions))
        manifest = Manifest(writer.version, dict(partitioning), entries, index, schema)
        write_whole(writer.directory / _MANIFEST, manifest.to_bytes())
        try:
            writer.directory.rename(self.directory / f"v{writer.version}")
        except OSError as error:
            shutil.rmtree(writer.directory, ignore_errors=True)
            message = (
                f"version {writer.version} of the static data in {self.directory} was written by "
                f"somebody else at the same time ({error}): write again"
            )
            raise ConfigurationError(message) from error
        return manifest

    def manifest(self, version: int) -> Manifest:
        """Read what a version holds.

        Raises
        ------
        RunError
            There is no such version or its manifest cannot be read.
        """
        return _manifest(self.directory / f"v{version}" / _MANIFEST)

    def read(self, version: int, partition: int | None) -> pa.Table:
        """Read a partition, or the index where that is None, and check that it is what was written.

        Raises
        ------
        RunError
            Its file is missing or is not what was written.
        """
        manifest = self.manifest(version)
        expected = manifest.index if partition is None else manifest.files[partition]
        if expected is None or not expected.rows:
            return manifest.schema.empty_table()
        path = self.directory / f"v{version}" / _name(partition)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _broken(path, f"cannot be read: {error.strerror}") from error
        if _checksum(content) != expected.checksum:
            reason = f"is not what was written: {len(content)} bytes in place of {expected.bytes}"
            if len(content) == expected.bytes:
                reason = "is not what was written: its checksum differs"
            raise _broken(path, reason)
        # One thread: its time is measured, and all cores have other tasks.
        return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)


@lru_cache(maxsize=8)
def _manifest(path: Path) -> Manifest:
    try:
        return Manifest.from_bytes(path.read_bytes())
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} cannot be read ({error}): write the static data again"
        raise RunError(message) from error


def _name(partition: int | None) -> str:
    return "index.parquet" if partition is None else f"p{partition:05d}.parquet"


def _checksum(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _broken(path: Path, reason: str) -> RunError:
    message = (
        f"static partition {path} {reason}; write the static data again (a new version "
        "applies from the next epoch on) or put the file back"
    )
    return RunError(message)
