"""The static store: versions are complete, and reading returns what was written."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.joins.static.manifest import Manifest, StaticVersion
from evenkey.joins.static.objects import FORMAT
from evenkey.joins.static.static_store import StaticStore
from evenkey.spark.slots.cache import CacheKey, WorkerCache, process_cache

TABLE = pa.table({"k": [1, 2, 2], "v": ["a", None, "c"]})


def write(store, tables, partitions=3, index=None):
    writer = pickle.loads(pickle.dumps(store.begin()))
    files = {number: writer.write(number, table)[0] for number, table in tables.items()}
    extra = None if index is None else writer.write(None, index)[0]
    return store.commit(
        writer,
        files,
        partitions=partitions,
        partitioning={"by": "keys"},
        columns={"k": "bigint", "v": "string"},
        schema=TABLE.schema,
        index=extra,
    )


def folder(store, version):
    return Path(store.url) / store.folder(version)


@pytest.fixture
def store(tmp_path):
    return StaticStore(tmp_path / "static")


def test_a_version_is_read_as_it_was_written(store):
    manifest = write(store, {0: TABLE, 2: TABLE.slice(1)}, index=TABLE.select(["k"]))
    assert (manifest.version.number, manifest.partitions, manifest.rows) == (1, 3, 5)
    version = store.version(1)
    assert store.manifest(version) == manifest == Manifest.from_bytes(manifest.to_bytes())
    assert store.read(version, 0) == TABLE
    assert store.read(version, 1) == TABLE.schema.empty_table()
    assert store.read(version, 2).to_pylist() == TABLE.slice(1).to_pylist()
    assert store.read(version, None) == TABLE.select(["k"])


def test_a_state_of_an_earlier_version_is_refused_by_its_format(store):
    version = write(store, {0: TABLE}).version
    file = folder(store, version) / "manifest.json"
    fields = json.loads(file.read_bytes())
    assert fields.pop("format") == FORMAT
    file.write_text(json.dumps(fields))
    with pytest.raises(ConfigurationError) as refused:
        StaticStore(store.url).manifest(store.version(1))
    assert str(refused.value) == (
        f"{file} is of format 1 and this version of evenkey reads {FORMAT}: an earlier version "
        "wrote it; pass a new location as state, and start with a new checkpoint"
    )


def test_a_store_that_is_made_anew_has_another_version_in_the_same_place(store):
    old = write(store, {0: TABLE}).version
    shutil.rmtree(store.url)
    new = write(store, {0: TABLE.slice(1)}).version
    assert (old.number, new.number) == (1, 1)
    assert store.latest() == new != old
    assert store.read(new, 0) == TABLE.slice(1)
    store.check(new)
    for look in (store.check, lambda version: store.read(version, 0)):
        with pytest.raises(RunError, match=rf"version 1 \({old.identity}\) .* no longer in"):
            look(old)


def test_nobody_sees_a_version_before_it_is_complete(store):
    with pytest.raises(RunError, match="no static data"):
        store.latest()
    store.begin().write(0, TABLE)
    assert store.versions() == []
    write(store, {0: TABLE})
    write(store, {0: TABLE.slice(1)})
    assert store.versions() == [1, 2]
    assert store.latest() == store.version(2)
    assert store.read(store.version(1), 0) == TABLE


def test_of_two_writers_of_one_version_one_fails(store):
    late = store.begin()
    late.write(0, TABLE)
    write(store, {0: TABLE})
    with pytest.raises(ConfigurationError, match="another program"):
        store.commit(late, {}, partitions=1, partitioning={}, columns={}, schema=TABLE.schema)
    assert store.versions() == [1]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "bytes in place of"),
        (lambda path: path.write_bytes(path.read_bytes()[::-1]), "checksum differs"),
    ],
)
def test_a_damaged_partition_is_reported(store, damage, message):
    version = write(store, {0: TABLE}).version
    damage(folder(store, version) / "p00000.parquet")
    with pytest.raises(RunError, match=f"p00000.parquet .*{message}"):
        store.read(version, 0)


def test_a_damaged_manifest_is_reported(store):
    version = write(store, {0: TABLE}).version
    (folder(store, version) / "manifest.json").write_text("{")
    with pytest.raises(RunError, match=r"manifest\.json cannot be read"):
        store.manifest(version)
    (Path(store.url) / "v1.json").write_text("{")
    with pytest.raises(RunError, match=r"v1\.json cannot be read"):
        store.latest()


def get(cache, partition, size=10):
    """Return whether a partition had to be loaded."""
    key = CacheKey("s", 0, partition, StaticVersion(1, "a"))
    _, loaded = cache.get(key, lambda: memoryview(bytes(size)))
    return loaded


def test_a_cache_keeps_within_its_limit():
    cache = WorkerCache(30)
    assert [get(cache, p) for p in (1, 2, 3, 1, 2, 3)] == [True] * 3 + [False] * 3
    assert get(cache, 4)
    assert cache.nbytes == 30
    assert not get(cache, 4)
    assert get(cache, 5, size=25)
    assert cache.nbytes == 25
    assert [get(cache, 9, size=31) for _ in range(2)] == [True, True]
    assert not get(cache, 5, size=25)


def test_a_cache_drops_what_is_unwanted():
    cache = WorkerCache(30)
    for partition in (1, 2, 3):
        get(cache, partition)
    cache.drop(lambda key: key.partition != 2)
    assert cache.nbytes == 10
    assert not get(cache, 2)


def test_a_cache_that_is_a_little_too_small_is_of_use_all_the_same():
    # As epochs do, read all partitions in the same order each time.
    cache = WorkerCache(80)
    loads = [get(cache, partition) for _ in range(20) for partition in range(10)]
    assert sum(loads[:10]) == 10
    assert sum(loads[10:]) < 190 / 2


def test_a_process_has_one_cache():
    assert process_cache(5) is process_cache(7)
    assert process_cache(7).limit == 7
