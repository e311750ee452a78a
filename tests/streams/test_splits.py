"""The messages of each splitter, compared with plain Python, and the reasons of rejections."""

from __future__ import annotations

import csv
import io
import pickle
import unicodedata

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.splits import SPLITTERS, Columns, CsvRecords, JsonLines, Lines, Words

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=20)
raw_lines = st.lists(st.one_of(texts.map(str.encode), st.binary(max_size=5)), max_size=20)
BAD_COUNT = "is not a whole number of at least 1"


def split(splitter, lines):
    """Return messages as (line, key, count), and rejected lines as {line: reason}."""
    messages, rejected = splitter.split(pa.array(lines, pa.binary()))
    assert messages.schema.names == ["line", "key", "count"]
    assert messages.schema.types == [pa.int64(), pa.string(), pa.int64()]
    assert rejected.schema.types == [pa.int64(), pa.string()]
    found = [tuple(row.values()) for row in messages.to_pylist()]
    reasons = {row["line"]: row["reason"] for row in rejected.to_pylist()}
    assert list(reasons) == sorted(reasons)
    return found, reasons


def decoded(line):
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


@pytest.mark.slow(3)
@given(raw_lines)
@example([b"\xff", b"a"])
def test_lines(lines):
    messages, rejected = split(Lines(), lines)
    assert messages == [(i, decoded(line), 1) for i, line in enumerate(lines) if decoded(line)]
    assert list(rejected) == [i for i, line in enumerate(lines) if not decoded(line)]


def naive_words(text):
    inside = [c == "_" or unicodedata.category(c)[0] in "LMN" for c in text]
    spaced = "".join(c if keep else " " for c, keep in zip(text, inside, strict=True))
    return spaced.lower().split(" ")


known = st.text("aZ09_ .,'-éÀ東हिन्दी", max_size=20)  # characters on which all Unicode tables agree


@pytest.mark.slow(2)
@given(st.lists(known, max_size=10))
def test_words(lines):
    messages, rejected = split(Words(), [line.encode() for line in lines])
    expected = [(i, word, 1) for i, line in enumerate(lines) for word in naive_words(line) if word]
    assert (messages, rejected) == (expected, {})


def test_words_of_a_line_that_is_not_utf_8():
    messages, rejected = split(Words(), [b"\xff a", b"...", b"b"])
    assert messages == [(2, "b", 1)]
    assert rejected == {0: "not UTF-8: invalid start byte at byte 0"}


fields = st.text("abc, \"'é", max_size=6)
HEADER = ("when", "who", "n")


def naive_record(line):
    try:
        record = next(csv.reader([line], strict=True), [])
    except csv.Error:
        return None
    return record if len(record) == 3 and record[1] else None


@given(st.lists(st.tuples(fields, fields, st.integers(1, 10**17)), max_size=10), st.booleans())
def test_csv_that_python_wrote(records, quote_all):
    file = io.StringIO()
    dialect: type[csv.Dialect] = csv.unix_dialect if quote_all else csv.excel
    csv.writer(file, dialect, lineterminator="\n").writerows(records)
    lines = file.getvalue().encode().split(b"\n")[:-1]
    messages, rejected = split(CsvRecords(HEADER, Columns("who", "n")), lines)
    assert messages == [(i, who, n) for i, (_, who, n) in enumerate(records) if who]
    assert rejected == {i: "the key is empty" for i, (_, who, _) in enumerate(records) if not who}


@given(st.lists(st.text('a,"b', max_size=12), max_size=12))
def test_csv_of_any_text(lines):
    messages, rejected = split(
        CsvRecords(HEADER, Columns("who")), [line.encode() for line in lines]
    )
    parsed = enumerate(map(naive_record, lines))
    assert messages == [(i, record[1], 1) for i, record in parsed if record]
    assert len(messages) + len(rejected) == len(lines)


def test_csv_reasons():
    lines = [
        b"1,a,2",
        b"1,a",
        b"",
        b"\xff,a,1",
        b'1,"a,1',
        b'"1,",,1',
        b"1,a,",
        b"1,a,0",
        b"1,a,x",
        b"1,a,-3",
        b"1,a,1.0",
        b"1,a," + b"9" * 200,
        b'"1",a, +4 ',
    ]
    messages, rejected = split(CsvRecords(HEADER, Columns("who", "n")), lines)
    assert messages == [(0, "a", 2), (12, "a", 4)]
    assert rejected == {
        1: "the record's number of fields is 2, the header's is 3",
        2: "the record's number of fields is 1, the header's is 3",
        3: "not UTF-8: invalid start byte at byte 0",
        4: "not a CSV record: a quote is not closed",
        5: "the key is empty",
        6: f"the count '' {BAD_COUNT}",
        7: f"the count '0' {BAD_COUNT}",
        8: f"the count 'x' {BAD_COUNT}",
        9: f"the count '-3' {BAD_COUNT}",
        10: f"the count '1.0' {BAD_COUNT}",
        11: f"the count '{'9' * 80}' {BAD_COUNT}",
    }


@pytest.mark.parametrize(
    ("header", "fix"),
    [
        (("a", "b"), "no column 'who'; its header has: a, b"),
        (("who", "n", "who"), "two columns 'who'"),
        (("who", "b"), "no column 'n'"),
    ],
)
def test_csv_columns_that_cannot_serve(header, fix):
    with pytest.raises(ConfigurationError, match=fix):
        CsvRecords(header, Columns("who", "n"))


def test_csv_header_line():
    assert CsvRecords.read_header(b'\xef\xbb\xbfa,"b, c"') == ("a", "b, c")
    assert CsvRecords.read_header(b"") == ()


def test_json_keys_and_counts():
    lines = [
        b'{"user": {"id": "x"}, "n": 2}',
        b'{"user": {"id": 7}, "n": " 3 "}',
        b'{"user": {"id": 1.5}, "n": 1}',
        b'{"user": {"id": true}, "n": 1}',
        b'{"user.id": "dotted", "user": {}, "n": 1}',
        b'{"user": {"id": "\\u00e9\\ud83d\\ude00"}, "n": 1}',
    ]
    keys = ["x", "7", "1.5", "true", "dotted", "é😀"]
    messages, rejected = split(JsonLines(Columns("user.id", "n")), lines)
    assert [key for _, key, _ in messages] == keys
    assert [count for *_, count in messages] == [2, 3, 1, 1, 1, 1]
    assert rejected == {}


def test_a_null_key_is_a_key_and_a_null_line_is_no_line():
    messages, rejected = split(JsonLines(Columns("k")), [b'{"k": null}', None, b'{"k": "null"}'])
    assert messages == [(0, None, 1), (2, "null", 1)]
    assert rejected == {1: "the line is null"}


@pytest.mark.parametrize(
    "splitter",
    [CsvRecords(("k", "n"), Columns("k", "n")), JsonLines(Columns("k")), *SPLITTERS.values()],
    ids=lambda each: each.name,
)
def test_a_null_line_makes_no_message(splitter):
    messages, rejected = splitter.split(pa.array([None], pa.binary()))
    assert messages.num_rows == 0
    assert rejected["line"].to_pylist() == [0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not JSON: Expecting value"),
        (b'{"k": 1', "not JSON"),
        (b"[" * 100_000, "not JSON: maximum recursion depth"),
        (b"\xff", "not UTF-8"),
        (b"[1]", "there is no field 'k'"),
        (b"null", "there is no field 'k'"),
        (b'{"n": 1}', "there is no field 'k'"),
        (b'{"k": "a"}', "there is no field 'n'"),
        (b'{"k": "", "n": 1}', "the key is empty"),
        (b'{"k": {}, "n": 1}', "field 'k' is not a single value"),
        (b'{"k": "\\ud800", "n": 1}', "the key has half a character (a lone surrogate)"),
        (b'{"k": "a", "n": 0}', f"the count 0 {BAD_COUNT}"),
        (b'{"k": "a", "n": 1.0}', f"the count 1.0 {BAD_COUNT}"),
        (b'{"k": "a", "n": true}', f"the count True {BAD_COUNT}"),
        (b'{"k": "a", "n": null}', f"the count None {BAD_COUNT}"),
        (b'{"k": "a", "n": "x"}', f"the count 'x' {BAD_COUNT}"),
        (b'{"k": "a", "n": 9223372036854775808}', f"the count 9223372036854775808 {BAD_COUNT}"),
    ],
)
def test_json_reasons(line, reason):
    good = b'{"k": "a", "n": 1}'
    messages, rejected = split(JsonLines(Columns("k", "n")), [good, line, good])
    assert messages == [(0, "a", 1), (2, "a", 1)]
    assert list(rejected) == [1]
    assert rejected[1].startswith(reason)


@pytest.mark.parametrize(
    "splitter",
    [Lines(), Words(), CsvRecords(HEADER, Columns("who")), JsonLines(Columns("k"))],
    ids=lambda s: s.name,
)
def test_nothing_to_split(splitter):
    assert split(pickle.loads(pickle.dumps(splitter)), []) == ([], {})
    assert split(splitter, [b"\xff"])[0] == []
