"""The static store: versions are whole, and what is read is what was written."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from evenkey.errors import ConfigurationError, RunError
from evenkey.joins.static_store import StaticStore
from evenkey.joins.worker_cache import CacheKey, WorkerCache, process_cache

TABLE = pa.table({"k": [1, 2, 2], "v": ["a", None, "c"]})


def write(store, tables, partitions=3, index=None):
    writer = pickle.loads(pickle.dumps(store.begin()))
    files = {number: writer.write(number, table) for number, table in tables.items()}
    extra = None if index is None else writer.write(None, index)
    return store.commit(
        writer,
        files,
        partitions=partitions,
        partitioning={"by": "keys"},
        schema=TABLE.schema,
        index=extra,
    )


@pytest.fixture
def store(tmp_path):
    return StaticStore(tmp_path / "static")


def test_a_version_is_read_as_it_was_written(store):
    manifest = write(store, {0: TABLE, 2: TABLE.slice(1)}, index=TABLE.select(["k"]))
    assert (manifest.version, manifest.partitions, manifest.rows) == (1, 3, 5)
    assert store.manifest(1) == manifest
    assert store.read(1, 0) == TABLE
    assert store.read(1, 1) == TABLE.schema.empty_table()
    assert store.read(1, 2).to_pylist() == TABLE.slice(1).to_pylist()
    assert store.read(1, None) == TABLE.select(["k"])


def test_nobody_sees_a_version_before_it_is_complete(store):
    with pytest.raises(RunError, match="no static data"):
        store.latest()
    store.begin().write(0, TABLE)
    assert store.versions() == []
    write(store, {0: TABLE})
    write(store, {0: TABLE.slice(1)})
    assert store.versions() == [1, 2]
    assert store.latest() == 2
    assert store.read(1, 0) == TABLE


def test_of_two_writers_of_one_version_one_fails(store):
    late = store.begin()
    late.write(0, TABLE)
    write(store, {0: TABLE})
    with pytest.raises(ConfigurationError, match="somebody else"):
        store.commit(late, {}, partitions=1, partitioning={}, schema=TABLE.schema)
    assert store.versions() == [1]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "bytes in place of"),
        (lambda path: path.write_bytes(path.read_bytes()[::-1]), "checksum differs"),
    ],
)
def test_a_damaged_partition_is_told(store, damage, told):
    write(store, {0: TABLE})
    damage(store.directory / "v1" / "p00000.parquet")
    with pytest.raises(RunError, match=f"p00000.parquet .*{told}"):
        store.read(1, 0)


def test_a_damaged_manifest_is_told(store):
    write(store, {0: TABLE})
    (store.directory / "v1" / "manifest.json").write_text("{")
    with pytest.raises(RunError, match=r"manifest\.json cannot be read"):
        store.manifest(1)


def test_a_cache_keeps_within_its_limit_and_forgets_the_oldest():
    cache = WorkerCache(30)
    loaded = []

    def get(partition, size=10):
        def load():
            loaded.append(partition)
            return memoryview(bytes(size))

        return cache.get(CacheKey("s", 0, partition, 1), load)

    assert [get(p)[1] for p in (1, 2, 3, 1, 2)] == [True, True, True, False, False]
    assert [get(p)[1] for p in (4, 1, 2, 3)] == [True, False, False, True]
    assert cache.nbytes == 30
    assert [get(9, size=31)[1] for _ in range(2)] == [True, True]
    cache.drop(lambda key: key.partition != 2)
    assert cache.nbytes == 10
    assert not get(2)[1]


def test_a_process_has_one_cache():
    assert process_cache(5) is process_cache(7)
    assert process_cache(7).limit == 7
