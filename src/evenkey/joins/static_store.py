"""Static store: versions of the static side as immutable, checksummed Parquet partitions."""

from __future__ import annotations

import json
import re
import shutil
import uuid
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.checking import check_path
from evenkey.errors import ConfigurationError, RunError
from evenkey.joins.files import claim, write_file
from evenkey.joins.static_manifest import Manifest, StaticFile, StaticVersion, checksum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.joins.fingerprint import Fingerprint

_VERSION = re.compile(r"v(\d+)\.json")
_MANIFEST = "manifest.json"


class StaticWriter:
    """Writes the partitions of a new version; picklable, so that tasks can do so.

    Nobody sees the version before `StaticStore.commit`.
    """

    def __init__(self, directory: Path, version: StaticVersion) -> None:
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
        write_file(self.directory / _name(partition), content)
        return StaticFile(table.num_rows, len(content), checksum(content))


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

    def version(self, number: int) -> StaticVersion:
        """The version that has a number.

        Raises
        ------
        RunError
            There is none, or what names it cannot be read.
        """
        path = self._name(number)
        try:
            return StaticVersion(number, json.loads(path.read_bytes())["identity"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path} cannot be read ({error}): write the static data again"
            raise RunError(message) from error

    def latest(self) -> StaticVersion:
        """The newest version.

        Raises
        ------
        RunError
            There is none.
        """
        numbers = self.versions()
        if not numbers:
            message = f"there is no static data in {self.directory}: write it first"
            raise RunError(message)
        return self.version(numbers[-1])

    def folder(self, version: StaticVersion) -> Path:
        """Where the files of a version lie."""
        return self.directory / f"v{version.number}-{version.identity}"

    def check(self, version: StaticVersion) -> None:
        """Make sure that a version is there still.

        Raises
        ------
        RunError
            It is not: its directory was deleted, and perhaps made anew.
        """
        if not (self.folder(version) / _MANIFEST).exists():
            message = (
                f"version {version.number} ({version.identity}) of the static data, by which this "
                f"join goes, is no longer in {self.directory}: it was deleted, or made anew for "
                "another join; call balanced_join again, and start its query again"
            )
            raise RunError(message)

    def begin(self) -> StaticWriter:
        """Begin a new version."""
        version = StaticVersion(max(self.versions(), default=0) + 1, uuid.uuid4().hex)
        return StaticWriter(self.folder(version), version)

    def commit(
        self,
        writer: StaticWriter,
        files: Mapping[int, StaticFile],
        *,
        partitions: int,
        partitioning: Mapping[str, Any],
        columns: Mapping[str, str],
        schema: pa.Schema,
        index: StaticFile | None = None,
        fingerprint: Fingerprint | None = None,
        refreshed: bool = False,
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
        columns
            Spark's types of the columns.
        schema
            Of the rows.
        index
            The replicated index, if there is one.
        fingerprint, refreshed
            As a manifest has them.

        Raises
        ------
        ConfigurationError
            Another writer has made the same version meanwhile.
        RunError
            The directory cannot be written.
        """
        nothing = StaticFile(0, 0, "")
        entries = tuple(files.get(number, nothing) for number in range(partitions))
        manifest = Manifest(
            writer.version,
            dict(partitioning),
            dict(columns),
            entries,
            index,
            schema,
            fingerprint,
            refreshed,
        )
        write_file(writer.directory / _MANIFEST, manifest.to_bytes())
        name = self._name(writer.version.number)
        if not claim(name, json.dumps({"identity": writer.version.identity}).encode()):
            shutil.rmtree(writer.directory, ignore_errors=True)
            message = (
                f"version {writer.version.number} of the static data in {self.directory} was "
                "written by somebody else at the same time: write again"
            )
            raise ConfigurationError(message)
        return manifest

    def manifest(self, version: StaticVersion) -> Manifest:
        """Read what a version holds.

        Raises
        ------
        RunError
            There is no such version or its manifest cannot be read.
        """
        self.check(version)
        return _manifest(self.folder(version) / _MANIFEST)

    def read(self, version: StaticVersion, partition: int | None) -> pa.Table:
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
        path = self.folder(version) / _name(partition)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _broken(path, f"cannot be read: {error.strerror}") from error
        if checksum(content) != expected.checksum:
            reason = f"is not what was written: {len(content)} bytes in place of {expected.bytes}"
            if len(content) == expected.bytes:
                reason = "is not what was written: its checksum differs"
            raise _broken(path, reason)
        # One thread: its time is measured, and all cores have other tasks.
        return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)

    def _name(self, number: int) -> Path:
        return self.directory / f"v{number}.json"


@lru_cache(maxsize=8)
def _manifest(path: Path) -> Manifest:
    try:
        return Manifest.from_bytes(path.read_bytes())
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} cannot be read ({error}): write the static data again"
        raise RunError(message) from error


def _name(partition: int | None) -> str:
    return "index.parquet" if partition is None else f"p{partition:05d}.parquet"


def _broken(path: Path, reason: str) -> RunError:
    message = (
        f"static partition {path} {reason}; write the static data again (a new version "
        "applies from the next epoch on) or put the file back"
    )
    return RunError(message)
