"""Static store: versions of the static side as immutable, checksummed Parquet partitions."""

from __future__ import annotations

import json
import platform
import re
import uuid
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import at_once, scheme_of, store_at
from evenkey.joins.static.manifest import Manifest, StaticFile, StaticVersion, checksum
from evenkey.joins.static.objects import unseen
from evenkey.joins.static.version_writer import MANIFEST, StaticWriter, name_of
from evenkey.spark.slots import create, delete_all, find, put

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenkey.core.stores import Store
    from evenkey.joins.static.fingerprint import Fingerprint

_VERSION = re.compile(r"v(\d+)\.json")


class StaticStore:
    """The versions of a join's static side, in a store.

    Two stores at the same location are equal.

    Parameters
    ----------
    place
        Location of the store, which the driver and all executors share: a path, a URI or a
        `evenkey.core.stores.Store`.
    host
        The host that wrote the join's version. If another host does not see the version, the error
        message names both hosts.

    Examples
    --------
    >>> import tempfile
    >>> StaticStore(tempfile.mkdtemp()).versions()
    []

    `balanced_join` and `refresh` write versions. A version is visible once it is complete, and is
    read by partition.

    >>> import pyarrow as pa
    >>> store = StaticStore(tempfile.mkdtemp()).written_by(platform.node())
    >>> prices = pa.table({"article": ["tea", "bar"], "price": [3.5, 1.0]})
    >>> writer = store.begin()
    >>> files = {0: writer.write(0, prices)[0]}
    >>> types = {"article": "string", "price": "double"}
    >>> made = store.commit(
    ...     writer, files, partitions=1, partitioning={}, columns=types, schema=prices.schema
    ... )
    >>> newest = store.latest()
    >>> newest == store.version(1), store.manifest(newest).columns == types
    (True, True)
    >>> store.read(newest, 0)["price"].to_pylist()
    [3.5, 1.0]
    >>> store.check(newest)  # raises an error if it was deleted
    >>> store.folder(newest).startswith("v1-"), StaticStore(store.url) == store
    (True, True)
    >>> store.clear()
    >>> store.versions()
    []
    """

    def __init__(self, place: str | Path | Store, host: str = "") -> None:
        self.store = store_at(place)
        self._host = host

    def written_by(self, host: str) -> StaticStore:
        """Return the same store, with the host that wrote the join's version."""
        return StaticStore(self.store, host)

    @property
    def url(self) -> str:
        """Location of the store."""
        return self.store.url

    def versions(self) -> list[int]:
        """Return the numbers of the versions that are complete, ascending.

        This lists the store; code that runs in every epoch calls `latest` with a known version.

        Raises
        ------
        RunError
            The store cannot be read.
        """
        try:
            found = (_VERSION.fullmatch(name) for name in self.store.names())
            return sorted(int(match[1]) for match in found if match)
        except OSError as error:
            message = f"{self.url} cannot be listed ({error}): check its storage, then start again"
            raise RunError(message) from error

    def version(self, number: int) -> StaticVersion:
        """Return the version with a given number.

        Raises
        ------
        RunError
            There is no version with this number, or its identity cannot be read.
        """
        found = self._named(number)
        if found is None:
            message = f"{self.store.path(_name(number))} is not there: {_WAYS_OUT}"
            raise RunError(message)
        return found

    def latest(self, known: StaticVersion | None = None) -> StaticVersion:
        """Return the newest version.

        Parameters
        ----------
        known
            A version that was the newest some time ago. The search starts from this version. If
            there is no newer version, the search takes two requests and no listing. None: list the
            store.

        Raises
        ------
        RunError
            There is no version.
        """
        if known is not None:
            here, there = self._two_from(known.number)
            if here == known:
                while there is not None:
                    known, there = there, self._named(there.number + 1)
                return known
        numbers = self.versions()
        if not numbers:
            if known is not None:
                raise self._gone(known)
            message = (
                f"there is no static data in {self.url}: call balanced_join first, which writes it"
            )
            raise RunError(message)
        return self.version(numbers[-1])

    def _two_from(self, number: int) -> list[StaticVersion | None]:
        return at_once(self._named, (number, number + 1))

    def _named(self, number: int) -> StaticVersion | None:
        content = find(self.store, _name(number))
        if content is None:
            return None
        try:
            return StaticVersion(number, json.loads(content)["identity"])
        except (ValueError, KeyError, TypeError) as error:
            path = self.store.path(_name(number))
            message = f"{path} cannot be read ({error}): {_WAYS_OUT}"
            raise RunError(message) from error

    def folder(self, version: StaticVersion) -> str:
        """Return the folder with the objects of a version."""
        return f"v{version.number}-{version.identity}"

    def check(self, version: StaticVersion) -> None:
        """Check with one request that a version still exists.

        Raises
        ------
        RunError
            The version was deleted, and perhaps created again; or this host does not share the
            location with the host that wrote the version.
        """
        if self._named(version.number) != version:
            raise self._gone(version)

    def _gone(self, version: StaticVersion) -> RunError:
        on_disks = scheme_of(self.url) == "file"
        if on_disks and self._host not in ("", platform.node()):
            return unseen(self.store.path(_name(version.number)), f"host {self._host}")
        return RunError(
            f"version {version.number} ({version.identity}) of the static data, which this join "
            f"uses, is no longer in {self.url}: it was deleted, or created again for another "
            "join; call balanced_join again, and start its query again"
        )

    def begin(self) -> StaticWriter:
        """Begin a new version."""
        version = StaticVersion(max(self.versions(), default=0) + 1, uuid.uuid4().hex)
        writer = StaticWriter(self.store.under(self.folder(version)), version, platform.node())
        writer.begin()
        return writer

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
        """Make a complete version visible; a second commit of the same version changes nothing.

        Parameters
        ----------
        writer
            The writer of the version.
        files
            Files of the version by partition; a partition without rows needs no file.
        partitions
            Number of partitions, P.
        partitioning
            How rows were assigned to partitions.
        columns
            Spark's types of the columns.
        schema
            Schema of the rows.
        index
            The file of the replicated index; None: there is none.
        fingerprint, refreshed
            As in `Manifest`.

        Raises
        ------
        ConfigurationError
            Another writer has committed a version with the same number in the meantime.
        RunError
            The store cannot be written.
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
            platform.node(),
        )
        put(writer.store, MANIFEST, manifest.to_bytes())
        number, identity = writer.version
        named = create(self.store, _name(number), json.dumps({"identity": identity}).encode())
        if not named and self._named(number) != writer.version:
            delete_all(writer.store, writer.store.names())
            message = (
                f"version {number} of the static data in {self.url} was written by another "
                "program at the same time: call balanced_join or refresh again"
            )
            raise ConfigurationError(message)
        return manifest

    def clear(self) -> None:
        """Delete all versions, complete or not."""
        delete_all(self.store, self.store.names())

    def manifest(self, version: StaticVersion) -> Manifest:
        """Read the manifest of a version; a process caches the last eight, which never change.

        Raises
        ------
        RunError
            There is no such version, or the manifest cannot be read.
        """
        return _manifest(self, version)

    def read(self, version: StaticVersion, partition: int | None) -> pa.Table:
        """Read a partition (None: the index), and check that its file has not changed.

        Raises
        ------
        RunError
            The file is missing, or its content is not what was written.
        """
        manifest = self.manifest(version)
        expected = manifest.index if partition is None else manifest.files[partition]
        if expected is None or not expected.rows:
            return manifest.schema.empty_table()
        name = f"{self.folder(version)}/{name_of(partition)}"
        content = find(self.store, name)
        if content is None:
            self.check(version)
            raise _broken(self.store.path(name), "cannot be read: it is not there")
        if checksum(content) != expected.checksum:
            reason = f"is not what was written: {len(content)} bytes in place of {expected.bytes}"
            if len(content) == expected.bytes:
                reason = "is not what was written: its checksum differs"
            raise _broken(self.store.path(name), reason)
        # Use one thread, because the time of this thread is measured, and other cores run other
        # tasks.
        return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticStore) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)


@lru_cache(maxsize=8)
def _manifest(store: StaticStore, version: StaticVersion) -> Manifest:
    name = f"{store.folder(version)}/{MANIFEST}"
    path, content = store.store.path(name), find(store.store, name)
    if content is None:
        store.check(version)
        message = f"{path} is not there: {_WAYS_OUT}"
        raise RunError(message)
    try:
        return Manifest.from_bytes(content, path)
    except ConfigurationError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        message = f"{path} cannot be read ({error}): {_WAYS_OUT}"
        raise RunError(message) from error


_WAYS_OUT = "restore it, or start with a new checkpoint and a new state"


def _name(number: int) -> str:
    return f"v{number}.json"


def _broken(path: str, reason: str) -> RunError:
    message = (
        f"static partition {path} {reason}: restore it, or call refresh, which writes all static "
        "data again (for new epochs; an epoch that runs again uses the same version)"
    )
    return RunError(message)
