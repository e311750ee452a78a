"""Times, values and composite keys of records are read as Python reads them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import RowIndex
from evenkey.core.streams.splits import Columns, CsvRecords, JsonLines, read_names, spell_names
from evenkey.core.streams.splits.composite import compose
from evenkey.core.streams.splits.times import read_times, times_of
from evenkey.core.streams.splits.typed import Guess, read_types, read_values, spell_type

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(times):
    return times.cast(pa.int64()).to_pylist()


@given(st.lists(st.datetimes(timezones=st.sampled_from([None, UTC])), min_size=1))
def test_written_times_are_what_python_reads(moments):
    texts = [each.isoformat(" " if number % 2 else "T") for number, each in enumerate(moments)]
    times, faults = read_times(pa.array(texts), "at")
    assert faults.null_count == len(texts)
    aware = [each.replace(tzinfo=UTC) for each in moments]
    assert micros(times) == [(each - EPOCH) // timedelta(microseconds=1) for each in aware]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86_400),
        (" 1970-01-01 00:01 ", 60),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00+0100", 0),
        ("1970-01-01T00:00:00.123456789Z", 0.123456),
        ("1969-12-31T23:59:59Z", -1),
        ("-5", -5),
        ("1.5", 1.5),
        ("+1e3", 1000),
        ("99999999999", 99_999_999_999),
        ("100000000000", 100_000_000),
        ("1767261600123", 1_767_261_600.123),
        ("1767261600123456", 1_767_261_600.123456),
        ("1767261600123456789", 1_767_261_600.123456),
    ],
)
def test_forms_of_times(text, seconds):
    # Together with other values, since a column is read as a whole.
    times, _ = read_times(pa.array(["1970-01-01", text, "soon"]), "at")
    assert micros(times) == [0, round(seconds * 1e6), None]


@pytest.mark.parametrize(
    "text", ["soon", "2026-02-30", "2026-13-01T00:00", "nan", "inf", "1e40", "0000-01-01", "12:30"]
)
def test_what_is_no_time_is_named(text):
    times, faults = read_times(pa.array([text, "", None, "1"]), "at")
    assert micros(times) == [None, None, None, 1_000_000]
    empty = "there is no time: at is empty"
    assert faults.to_pylist() == [f"the time {text!r} of at is no time", empty, empty, None]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([60, None], pa.timestamp("s")),
        pa.array([60_000, None], pa.timestamp("ms", "Europe/Berlin")),
        pa.array([60_000_000_001, None], pa.timestamp("ns", "UTC")),
        pa.array([60, None], pa.uint8()),
        pa.array([60.0, None]),
        pa.array([Decimal(60), None], pa.decimal128(5, 2)),
        pa.array(["1970-01-01T00:01Z", None]),
        pa.array(["60", None]).dictionary_encode(),
    ],
    ids=lambda values: str(values.type),
)
def test_typed_columns_of_times(values):
    times, faults = times_of(values, "at")
    assert micros(times) == [60_000_000, None]
    assert faults.to_pylist() == [None, "there is no time: at is empty"]


def test_dates_and_times_beyond_all_calendars():
    assert micros(times_of(pa.array([date(1970, 1, 2)]), "at")[0]) == [86_400_000_000]
    far = pa.array([2**62, -(2**62), 253_402_300_800, 5], pa.timestamp("s"))
    times, faults = times_of(far, "at")
    assert micros(times) == [None, None, None, 5_000_000]
    assert faults[2].as_py() == "the time '253402300800' of at is no time"


def fits(text, kind):
    """Parse a number as Python does; None if it does not fit the type."""
    try:
        read = Decimal(text)
    except InvalidOperation:
        return None
    if pa.types.is_integer(kind):
        whole = "." not in text and "e" not in text.lower()
        return int(read) if whole and -(2**63) <= read < 2**63 else None
    return read if read == round(read, 2) and abs(read) < 10**10 else None


NUMBERS = st.one_of(
    st.integers(-(2**64), 2**64).map(str),
    st.decimals(-(10**12), 10**12, places=3).map(str),
    st.decimals(-(10**6), 10**6, places=2).map(str),
    st.sampled_from(["n/a", "", "1_000", "0x10", "1,5", "--1", "+7", "1e3", "٣"]),
)


@given(st.lists(NUMBERS, min_size=1))
def test_numbers_are_read_exactly_or_not_at_all(texts):
    for kind in (pa.int64(), pa.decimal128(12, 2)):
        values, faults = read_values(pa.array(texts, pa.string()), kind, "paid")
        expected = [
            fits(text, kind) if text.isascii() and "_" not in text else None for text in texts
        ]
        assert values.to_pylist() == expected
        named = [f"{each!r} in column paid is no {spell_type(kind)}" for each in texts]
        pairs = zip(named, expected, strict=True)
        assert faults.to_pylist() == [why if value is None else None for why, value in pairs]


def test_blanks_around_numbers_and_special_doubles():
    texts = pa.array([" 1.5 ", "NaN", "-Infinity", "1e999", None, "x"])
    values, faults = read_values(texts, pa.float64(), "paid")
    assert str(values.to_pylist()) == "[1.5, nan, -inf, inf, None, None]"
    assert faults.to_pylist()[:5] == [None] * 5


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", " -2 ", None], pa.int64()),
        (["1", "2.0"], pa.float64()),
        (["1", "9223372036854775808"], pa.decimal128(38)),
        (["000000000000000000000000000000000000000000001"], pa.int64()),
        (["1" * 40], pa.float64()),
        (["1", "n/a"], pa.int64()),
        (["1", "n/a", "unknown"], pa.string()),
        ([None], pa.int64()),
    ],
)
def test_types_are_found_in_all_values(texts, kind):
    guess = Guess()
    for text in texts:
        guess.add(pa.array([text], pa.string()))
    assert guess.type == kind


def test_types_are_read_as_spark_writes_them():
    read = read_types("a bigint, b  DECIMAL(12, 2),`c, d``e` string")
    assert read == {"a": pa.int64(), "b": pa.decimal128(12, 2), "c, d`e": pa.string()}
    for wrong in (
        "a",
        "a blob",
        "a int, a int",
        "a decimal(39,2)",
        "a decimal(2,3)",
        "a int b",
        ",",
    ):
        with pytest.raises(ConfigurationError, match=r"^types = "):
            read_types(wrong)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["user"], "user"),
        (["user name"], "user name"),
        (["region", "user"], "region,user"),
        (["last, first"], '"last, first"'),
        (["last, first", "age"], '"last, first",age'),
        (['a "b"'], 'a "b"'),
        ([" a", "b"], '" a","b"'),
    ],
)
def test_names_are_spelled_as_briefly_as_they_can_be_read(names, text):
    assert spell_names(names) == text
    assert read_names(text) == tuple(names)


@pytest.mark.slow(6)
@given(st.lists(st.text(min_size=1).filter(lambda t: "\n" not in t and "\r" not in t), min_size=1))
def test_names_are_read_as_they_are_spelled(names):
    assert read_names(spell_names(names)) == tuple(names)


PARTS = st.one_of(st.none(), st.text())


@pytest.mark.slow(3)
@given(st.lists(st.tuples(PARTS, PARTS), min_size=1))
def test_composite_keys_are_lists_of_json_and_tell_all_keys_apart(keys):
    columns = [pa.array(column, pa.string()) for column in zip(*keys, strict=True)]
    spelled = compose(columns).to_pylist()
    assert [tuple(json.loads(each)) for each in spelled] == keys


OWN = Columns(("shop", "item"), time="at", values=(("paid", pa.decimal128(6, 2)),))


def messages_of(split):
    rows = split.messages.to_pylist()
    return [(r["line"], r["key"], r["event_time"].timestamp(), r["value_0"]) for r in rows]


def test_csv_records_with_columns_of_their_own():
    lines = [
        b'1,"x, y",0,1.50',
        b",b,1, ",
        b",,2,3",
        b'1,"say ""hi""",3,',
        b"1,b,,1",
        b"1,b,4,1.555",
        b"1,b,4",
    ]
    split = CsvRecords(("shop", "item", "at", "paid"), OWN).split(pa.array(lines))
    assert messages_of(split) == [
        (0, '["1","x, y"]', 0, Decimal("1.50")),
        (1, '[null,"b"]', 1, None),
        (2, "[null,null]", 2, Decimal("3.00")),
        (3, '["1","say \\"hi\\""]', 3, None),
    ]
    assert split.rejected["reason"].to_pylist() == [
        "there is no time: at is empty",
        "'1.555' in column paid is no decimal(6,2)",
        "the record's number of fields is 3, the header's is 4",
    ]


def test_json_lines_with_fields_of_their_own():
    lines = [
        b'{"shop": 1.50, "item": null, "at": "1970-01-01T00:00:01Z", "paid": 0.10}',
        b'{"item": "", "at": 2e0, "paid": "7"}',
        b'{"at": 3, "paid": null}',
        b'{"item": [], "at": 3}',
        b'{"item": "b", "at": true}',
        b'{"item": "b", "at": 1, "paid": {"eur": 1}}',
        b'{"item": "b", "at": "\\ud800"}',
    ]
    split = JsonLines(OWN).split(pa.array(lines))
    assert messages_of(split) == [
        (0, '["1.5",null]', 1, Decimal("0.10")),
        (1, '[null,""]', 2, Decimal("7.00")),
        (2, "[null,null]", 3, None),
    ]
    assert split.rejected["reason"].to_pylist() == [
        "field 'item' is not a single value",
        "the time 'true' of at is no time",
        "field 'paid' is not a single value",
        "field 'at' has half a character (a lone surrogate)",
    ]


def test_rows_with_columns_of_their_own(tmp_path):
    table = {
        "shop": pa.array([1, None, 2], pa.uint64()),
        "item": ["a", "", None],
        "at": ["0", "soon", "2"],
        "paid": pa.array([1, None, 3], pa.int32()),
    }
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    pq.write_table(pa.table({**table, "paid": [0.5, 1.5, 2.5]}), tmp_path / "b.parquet")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    index = RowIndex.build(paths, Columns(("shop", "item"), time="at"), ["paid"])
    assert index.key_types == (pa.decimal128(20), pa.string())
    split = index.split(0, 6)
    assert messages_of(split) == [
        (0, '["1","a"]', 0, 1.0),
        (2, '["2",null]', 2, 3.0),
        (3, '["1","a"]', 0, 0.5),
        (5, '["2",null]', 2, 2.5),
    ]
    assert split.rejected["line"].to_pylist() == [1, 4]
    assert Columns.from_json(json.loads(json.dumps(index.columns.to_json()))) == index.columns


@pytest.mark.parametrize(
    ("column", "time", "reason"),
    [
        ([[1]], "at", "column 'paid' holds list"),
        (pa.array([b"x"]), "at", "column 'paid' holds binary: cast it first"),
        ([1], "flag", "time column 'flag' holds bool: choose a column of timestamps"),
        ([1], "when", "no column 'when'; it has: k, at, flag, paid"),
    ],
)
def test_columns_that_cannot_be_read_are_named(tmp_path, column, time, reason):
    table = {"k": ["a"], "at": [0], "flag": [True], "paid": column}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(ConfigurationError, match=reason):
        RowIndex.build([tmp_path / "a.parquet"], Columns("k", time=time), ["paid"])
