"""Routing tables are numbered and written atomically; invalid ones are rejected."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.groupings import parse
from evenkey.spark import RoutingTable, RoutingTables
from evenkey.spark.plans.arrays import decoded, encoded
from evenkey.spark.plans.tables import FORMAT, NEW_STATE


@pytest.fixture
def tables(tmp_path):
    return RoutingTables(tmp_path / "tables", "dkg", 5)


def numbered(number):
    return RoutingTable(memory={"number": np.array([number])})


def number_of(table):
    return int(table.memory["number"][0]) if table.memory else None


def learned():
    """Return the merged memory of two sources of dynamic key grouping after a minute."""
    grouping = parse("dkg")
    routers = [grouping.router(5, source) for source in range(2)]
    keys = np.random.default_rng(0).zipf(1.5, 400).astype(np.uint64)
    for router in routers:
        router.route(keys, np.linspace(0, 60, len(keys)))
    memory = grouping.merge_memories([router.memory() for router in routers])
    local = {router.source: {"sent": router.snapshot()["sent"]} for router in routers}
    return RoutingTable(memory, local)


def test_reads_what_was_written(tables):
    table = learned()
    tables.write(7, table)
    assert Path(tables.path(7)).name == "table-0000000007.npz"
    assert Path(tables.path(7)).is_file()
    read = tables.read(7)
    assert list(read.memory) == list(table.memory)
    assert len(read.memory["items"]) > 0
    for name, array in table.memory.items():
        assert read.memory[name].dtype == array.dtype
        np.testing.assert_array_equal(read.memory[name], array)
    assert sorted(read.local) == [0, 1]
    for source, state in table.local.items():
        np.testing.assert_array_equal(read.local[source]["sent"], state["sent"])


def test_the_first_epoch_starts_from_nothing(tables):
    assert tables.numbers() == []
    assert tables.read(0) == RoutingTable()


@given(st.sets(st.integers(0, 30), max_size=6), st.integers(0, 40))
def test_an_epoch_reads_the_last_table_at_or_before_it(tmp_path_factory, numbers, epoch):
    tables = RoutingTables(tmp_path_factory.mktemp("tables"), "dkg", 5)
    for number in numbers:
        tables.write(number, numbered(number))
    expected = max((number for number in numbers if number <= epoch), default=None)
    assert number_of(tables.read(epoch)) == expected


def test_an_epoch_that_runs_again_replaces_its_table(tables):
    tables.write(3, numbered(1))
    tables.write(3, numbered(2))
    assert tables.numbers() == [3]
    assert number_of(tables.read(3)) == 2


def test_every_process_writes_the_same_bytes_of_a_table(tables, monkeypatch):
    """So if two tasks write the table, it does not matter which one is last."""
    tables.write(1, learned())
    first = Path(tables.path(1)).read_bytes()
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0)
    tables.write(1, learned())
    assert Path(tables.path(1)).read_bytes() == first


def test_what_lies_between_fields_of_records_is_not_written():
    kind = np.dtype([("key", np.int64), ("space", np.int8)], align=True)
    both = [np.full(4 * kind.itemsize, filler, dtype=np.uint8).view(kind) for filler in (0, 255)]
    for records in both:
        records["key"], records["space"] = 7, 1
    assert both[0].tobytes() != both[1].tobytes()
    assert encoded({"items": both[0]}) == encoded({"items": both[1]})


def test_old_tables_go(tables):
    for number in range(120):
        tables.write(number, numbered(number))
    assert tables.numbers() == list(range(19, 120))
    assert len(list(Path(tables.store.url).iterdir())) == 101


def test_each_query_has_its_own(tables):
    tables.under("one").write(1, numbered(1))
    assert tables.under("two").numbers() == []
    assert number_of(tables.under("one").read(5)) == 1
    assert tables.numbers() == []


def test_other_files_are_no_tables(tables):
    tables.write(1, numbered(1))
    for name in ("table-0000000002.npz.tmp", "table-3.npz", "x-table-0000000004.npz", "notes"):
        Path(tables.store.url, name).write_text("other")
    assert tables.numbers() == [1]
    assert number_of(tables.read(9)) == 1


def test_a_write_that_fails_leaves_the_tables_as_they_were(tables, monkeypatch):
    tables.write(1, numbered(1))

    def full(path, content):
        with path.open("wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RunError, match=r"table-0000000002\.npz cannot be written.*No space left"):
        tables.write(2, numbered(2))
    assert [path.name for path in Path(tables.store.url).iterdir()] == ["table-0000000001.npz"]


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    tables = RoutingTables(tmp_path / "file", "dkg", 5)
    with pytest.raises(RunError, match=r"file/table-0000000001\.npz cannot be written"):
        tables.write(1, numbered(1))


@pytest.mark.parametrize("grouping", ["dkg", "dkg(variant=reference)"])
@pytest.mark.parametrize("workers", [5, 6])
def test_a_table_of_another_routing_is_refused(tables, grouping, workers):
    tables.write(1, learned())
    reader = RoutingTables(tables.store, grouping, workers)
    if (grouping, workers) == ("dkg", 5):
        assert reader.read(1).memory
        return
    with pytest.raises(ConfigurationError) as refused:
        reader.read(1)
    says = str(refused.value)
    assert "table-0000000001.npz" in says
    assert "dkg with 5 workers" in says
    assert f"{grouping} with {workers}" in says


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_a_file_that_is_not_a_table_is_named_with_the_fix(tables, content):
    tables.write(1, numbered(1))
    tables.write(2, numbered(2))
    Path(tables.path(2)).write_bytes(content)
    with pytest.raises(RunError, match=r"table-0000000002\.npz is corrupt.*delete it"):
        tables.read(2)
    Path(tables.path(2)).unlink()
    assert number_of(tables.read(2)) == 1


def test_a_table_of_an_earlier_version_is_refused_by_its_format(tables):
    path = Path(tables.path(1))
    for number, which in ((None, "an earlier"), (1, "an earlier"), (FORMAT + 1, "another")):
        tables.write(1, learned())
        entries = decoded(path.read_bytes())
        assert entries.pop("format") == FORMAT
        if number is not None:
            entries["format"] = np.array(number)
        path.write_bytes(encoded(entries))
        with pytest.raises(ConfigurationError) as refused:
            tables.find(1)
        assert str(refused.value) == (
            f"routing table {path} is of format {number or 1} and this version of evenkey reads "
            f"{FORMAT}: {which} version wrote it; {NEW_STATE}"
        )


class Written(NamedTuple):
    tables: RoutingTables
    content: bytes

    def __repr__(self):
        return f"{len(self.content)} bytes"  # the content is too long for a test report


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    tables = RoutingTables(tmp_path_factory.mktemp("tables"), "dkg", 5)
    tables.write(1, learned())
    return Written(tables, Path(tables.path(1)).read_bytes())


@given(st.data())
def test_a_truncated_table_is_never_read(written, data):
    length = data.draw(st.integers(0, len(written.content) - 1))
    Path(written.tables.path(1)).write_bytes(written.content[:length])
    with pytest.raises(RunError, match="is corrupt"):
        written.tables.read(1)


@given(st.data())
def test_a_damaged_table_is_never_read(written, data):
    place = data.draw(st.integers(0, len(written.content) - 1))
    damaged = bytearray(written.content)
    damaged[place] ^= data.draw(st.integers(1, 255))
    Path(written.tables.path(1)).write_bytes(damaged)
    with pytest.raises(RunError, match="is corrupt"):
        written.tables.read(1)


def test_a_table_opens_as_an_archive(written):
    """So people can inspect it with ordinary tools."""
    written.tables.write(1, learned())
    with np.load(written.tables.path(1)) as archive:
        assert archive["workers"] == 5
        assert len(archive["memory/items"]) > 0
