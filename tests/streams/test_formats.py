"""Every input format has the same messages and labelled records for the same rows."""

from __future__ import annotations

import csv
import json
import pickle
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import SplitLines
from evenkey.core.streams.formats import FORMATS
from evenkey.core.streams.splits import Columns
from evenkey.core.streams.splits.columns import check_there
from evenkey.core.streams.suffixes import SplitName

ROWS = [{"name": f"a, {n % 4}\n'b'", "weight": n, "share": n / 2} for n in range(1, 9001)]
COLUMNS = Columns("name", "weight")


def write(name, path):
    """Write `ROWS` in a format; a new format needs a case here."""
    table = pa.Table.from_pylist(ROWS)
    if name == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ROWS[0])
            writer.writeheader()
            writer.writerows(ROWS)
    elif name == "json":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    else:
        {"parquet": pq.write_table}[name](table, path)
    return path


@pytest.fixture(params=sorted(FORMATS.with_columns))
def form(request):
    return FORMATS.with_columns[request.param]


def test_messages(form, tmp_path):
    path = write(form.name, tmp_path / f"a{form.suffixes[0]}")
    index = pickle.loads(pickle.dumps(form.index([path], COLUMNS, ())))
    split = index.split(2000, 9999)
    assert split.messages.select(["key", "count"]).to_pylist() == [
        {"key": row["name"], "count": row["weight"]} for row in ROWS[2000:]
    ]
    assert (split.rejected.num_rows, len(index)) == (0, 9000)
    assert (form.name in FORMATS.of_lines) == isinstance(index, SplitLines)
    assert (form.name in FORMATS.of_rows) == form.has_types


def test_labelled_records(form, tmp_path):
    path = write(form.name, tmp_path / f"a{form.suffixes[0]}")
    records = form.records(str(path))
    kinds = dict(zip(records.schema.names, records.schema.types, strict=True))
    assert list(kinds) == ["name", "weight", "share"]
    assert (kinds["name"], kinds["share"]) == (pa.string(), pa.float64())
    pieces = list(records.pieces(["share", "name"]))
    assert [len(piece.fault) for piece in pieces] == [8192, 808]
    found = pa.concat_tables(piece.table for piece in pieces)
    assert all(piece.fault.null_count == len(piece.fault) for piece in pieces)
    assert found["name"].to_pylist() == [row["name"] for row in ROWS]
    assert found["share"].cast(pa.float64()).to_pylist() == [row["share"] for row in ROWS]


def test_what_follows_from_the_list():
    assert get_args(SplitName) == tuple(FORMATS)
    assert {suffix: form.name for suffix, form in FORMATS.by_suffix.items()} == {
        ".csv": "csv",
        ".json": "json",
        ".jsonl": "json",
        ".ndjson": "json",
        ".parquet": "parquet",
    }
    assert [name for name, form in FORMATS.items() if not form.in_topics] == ["csv", "parquet"]
    assert set(FORMATS.of_lines) | set(FORMATS.of_rows) == set(FORMATS)


def test_columns_that_are_not_there_once():
    with pytest.raises(ConfigurationError, match="input a has no column 'c'; it has: a, b, b"):
        check_there("a", ["a", "c"], ["a", "b", "b"])
    with pytest.raises(ConfigurationError, match="input a has two columns 'b'"):
        check_there("a", ["a", "b"], ["a", "b", "b"])
