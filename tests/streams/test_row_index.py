"""Rows of Parquet files are read by number, and unsuitable columns are errors."""

from __future__ import annotations

import pickle
from socket import gethostname

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.streams import RowIndex
from evenkey.core.streams.splits import Columns

KEYS = [f"key {number}" for number in range(25)]
COUNTS = list(range(1, 26))


@pytest.fixture
def paths(tmp_path):
    table = pa.table({"key": KEYS, "count": pa.array(COUNTS, pa.int32()), "list": [[1]] * 25})
    found = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    pq.write_table(table.slice(0, 15), found[0], row_group_size=4)
    pq.write_table(table.slice(15), found[1])
    return found


@pytest.mark.parametrize("count", ["count", None])
@pytest.mark.parametrize(("start", "stop"), [(0, 25), (3, 5), (4, 8), (14, 16), (24, 99), (7, 7)])
def test_any_range_of_rows(paths, count, start, stop):
    index = pickle.loads(pickle.dumps(RowIndex.build(paths, Columns("key", count))))
    assert index.rows == len(index) == 25
    rows = index.read(start, stop)
    assert rows["key"].to_pylist() == KEYS[start:stop]
    expected = COUNTS if count else [1] * 25
    assert rows["count"].to_pylist() == expected[start:stop]


def test_rows_beyond_the_end(paths):
    rows = RowIndex.build(paths, Columns("key")).read(25, 30)
    assert (rows.num_rows, rows.column_names) == (0, ["key", "count"])


def test_keys_of_other_types_are_spelled_as_text(tmp_path):
    values = {"n": [1, None], "flag": [True, False], "c": pa.array(["x", "y"]).dictionary_encode()}
    pq.write_table(pa.table(values), tmp_path / "a.parquet")
    for column, expected in {"n": ["1", None], "flag": ["true", "false"], "c": ["x", "y"]}.items():
        index = RowIndex.build([tmp_path / "a.parquet"], Columns(column))
        assert index.read(0, 2)["key"].to_pylist() == expected


def test_rows_of_an_empty_key_or_no_count_are_set_apart(tmp_path):
    counts = pa.array([2, 1, 1, 0, 2**63], pa.uint64())
    pq.write_table(pa.table({"k": ["a", None, "", "b", "c"], "n": counts}), tmp_path / "a.parquet")
    split = RowIndex.build([tmp_path / "a.parquet"], Columns("k", "n")).split(0, 5)
    assert split.messages.to_pylist() == [
        {"line": 0, "key": "a", "count": 2},
        {"line": 1, "key": None, "count": 1},
    ]
    assert split.rejected["line"].to_pylist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("key", "count", "fix"),
    [
        ("user", None, "no column 'user'; it has: key, count, list"),
        ("key", "n", "no column 'n'; it has"),
        ("list", None, "key column 'list' holds list"),
        ("key", "key", "count column 'key' does not hold whole numbers"),
    ],
)
def test_columns_that_cannot_serve(paths, key, count, fix):
    with pytest.raises(ConfigurationError, match=fix):
        RowIndex.build(paths, Columns(key, count))


def test_bytes_are_no_key(tmp_path):
    pq.write_table(pa.table({"k": [b"a"]}), tmp_path / "a.parquet")
    with pytest.raises(ConfigurationError, match="key column 'k' holds binary"):
        RowIndex.build([tmp_path / "a.parquet"], Columns("k"))


def test_files_that_are_not_parquet_or_hold_nothing(tmp_path):
    (tmp_path / "a.parquet").write_text("text")
    with pytest.raises(ConfigurationError, match="is not a Parquet file"):
        RowIndex.build([tmp_path / "a.parquet"], Columns("k"))
    with pytest.raises(ConfigurationError, match="is not a Parquet file"):
        RowIndex.build([tmp_path / "gone.parquet"], Columns("k"))
    pq.write_table(pa.table({"k": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(ConfigurationError, match="holds no row"):
        RowIndex.build([tmp_path / "a.parquet"], Columns("k"))


def test_a_file_that_changed_is_refused(paths):
    index = RowIndex.build(paths, Columns("key"))
    assert index.read(0, 1)[0].to_pylist() == ["key 0"]
    pq.write_table(pa.table({"key": ["other"]}), paths[0])
    with pytest.raises(RunError, match="has changed since the run began: restore it"):
        index.read(0, 1)
    paths[0].unlink()
    with pytest.raises(
        RunError, match=rf"any more on host {gethostname()} \(.*executors read it under"
    ):
        index.read(0, 1)


def test_other_rows_of_the_same_size_are_refused(paths):
    index = pickle.loads(pickle.dumps(RowIndex.build(paths, Columns("key", "count"))))
    size, content = paths[1].stat().st_size, paths[1].read_bytes()
    table = pq.read_table(paths[1])
    swapped = table.take([1, 0, *range(2, len(table))])
    pq.write_table(swapped, paths[1])
    assert paths[1].stat().st_size == size
    with pytest.raises(RunError, match=r"b\.parquet has changed since the run began"):
        index.read(0, 25)
    paths[1].write_bytes(content)
    assert index.read(0, 25)[0].to_pylist() == KEYS


def test_columns_that_are_not_read_may_change(paths):
    index = RowIndex.build(paths, Columns("key"))
    ((_, group), *_) = index.groups
    content = bytearray(paths[0].read_bytes())
    ((begin, length),) = group.spans
    content[begin + length] ^= 0x04
    paths[0].write_bytes(content)
    assert index.read(0, 4)[0].to_pylist() == KEYS[:4]
    content[begin + length - 1] ^= 0x04
    paths[0].write_bytes(content)
    with pytest.raises(RunError, match="has changed"):
        index.read(0, 4)


@pytest.mark.soak
def test_every_changed_byte_of_what_is_read_is_noticed(paths):
    index = RowIndex.build(paths[:1], Columns("key"))
    content = paths[0].read_bytes()
    noticed = 0
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x04
        paths[0].write_bytes(changed)
        try:
            # Parts that are not read may differ: another column, the magic bytes at the start.
            assert index.read(0, 15)[0].to_pylist() == KEYS[:15]
        except RunError:
            noticed += 1
    assert noticed > len(content) / 2
