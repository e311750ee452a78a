"""Records of CSV files by number equal those that Python's csv, pandas and Arrow read."""

from __future__ import annotations

import csv
import io
import pickle
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow.csv as pacsv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenkey.core.errors import RunError
from evenkey.core.streams import LineIndex, files
from evenkey.core.streams.formats import CsvFiles
from evenkey.core.streams.splits import Columns, CsvRecords

HEADER = ("a", 'b"\n', "c")
pieces = ["x", "é", ",", '"', '""', " ", "\n"]
fields = st.lists(st.sampled_from(pieces), max_size=5).map("".join)
fields_of_windows = st.lists(st.sampled_from([*pieces, "\r", "\r\n"]), max_size=5).map("".join)
widths = st.sampled_from([4, 1 << 23])
"""Sizes of chunks, in bytes."""


def written(records, line_end="\n", *, final=True):
    text = io.StringIO(newline="")
    # If lines end with line feeds, Python's csv does not quote a single carriage return.
    returns = any("\r" in field for record in records for field in record)
    dialect: type[csv.Dialect] = csv.unix_dialect if returns else csv.excel
    csv.writer(text, dialect, lineterminator=line_end).writerows(records)
    content = text.getvalue().encode()
    return content if final else content.removesuffix(line_end.encode())


def indexed(directory, *contents):
    paths = [Path(directory) / f"{number}.csv" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return LineIndex.build(paths, csv=True, may_be_empty=True)


def read(index, start=0, stop=1 << 40, header=HEADER):
    values, fault = CsvRecords(header, Columns(header)).read(index.read(start, stop))
    assert fault.null_count == len(fault)
    return list(zip(*(values[name].to_pylist() for name in header), strict=True))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(files, "_BLOCK_LINES", 4)


@given(st.data(), st.sampled_from(["\n", "\r\n", "\r"]), widths, st.booleans())
def test_any_range_of_what_python_wrote(data, line_end, width, final):
    # A file whose lines end with carriage returns contains no line feed.
    of_file = st.text('x,"\r ', max_size=5) if line_end == "\r" else fields_of_windows
    header = ("a", "b,", "c") if line_end == "\r" else HEADER
    records = data.draw(st.lists(st.tuples(of_file, of_file, of_file), max_size=12))
    content = written([header, *records], line_end, final=final)
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_CHUNK_BYTES", width)
        index = pickle.loads(pickle.dumps(indexed(directory, content, b"", content)))
        twice = [*records, *records]
        assert index.lines == len(twice)
        assert CsvFiles().header(index) == header
        start, stop = data.draw(st.integers(0, 25)), data.draw(st.integers(0, 25))
        assert read(index, start, stop, header) == twice[start:stop]


@given(st.lists(st.tuples(fields, fields, fields), min_size=1, max_size=12), widths)
def test_what_pandas_and_arrow_read(records, width):
    content = written([HEADER, *records])
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_CHUNK_BYTES", width)
        found = read(indexed(directory, content))
    frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    assert found == list(frame.itertuples(index=False, name=None))
    table = pacsv.read_csv(
        io.BytesIO(content),
        parse_options=pacsv.ParseOptions(newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(HEADER, "string")),
    )
    assert found == [tuple(row.values()) for row in table.to_pylist()]


def first_record(lines, width):
    """Return the lines of the first record: one, unless a quoted field continues."""
    for count in range(1, len(lines) + 1):
        try:
            (record,) = csv.reader([b"".join(lines[:count]).decode()], strict=True)
        except csv.Error as error:
            if str(error) == "unexpected end of data":
                continue
            return lines[:1]
        except ValueError:  # no record, or more than one
            return lines[:1]
        return lines[:count] if count == 1 or len(record) == width else lines[:1]
    return lines[:1]


@given(
    st.lists(st.sampled_from([b'"', b'""', b',"', b'",', b"\n", b"x", b",", b"\r", b"\r\n"])),
    widths,
)
@example([b"x", b'"', b"\n", b'",', b","], 4)
@example([b'"', b"\n", b'",', b"x", b"\r", b"x", b","], 4)
def test_records_of_any_bytes(parts, width):
    content = b"".join(parts)
    lines, expected = [line + b"\n" for line in content.split(b"\n")], []
    lines[-1] = lines[-1].removesuffix(b"\n")
    while lines != [b""] and lines:
        taken = first_record(lines, 3)
        lines = lines[len(taken) :]
        expected.append(b"".join(taken).removesuffix(b"\n").removesuffix(b"\r"))
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_CHUNK_BYTES", width)
        index = indexed(directory, b"a,b,c\n" + content)
        assert index.read(0, 1 << 40).to_pylist() == expected
        for start in range(0, index.lines, 3):
            assert index.read(start, start + 2).to_pylist() == expected[start : start + 2]


good = st.tuples(
    st.sampled_from(["plain", "over\ntwo", "and\n\nthree\n", 'a "word"', "a, b", ""]),
    st.integers(0, 9).map(str),
    st.just("last"),
)
bad = st.sampled_from(
    ['"never closed,1,last', 'a,"open,', '"a"b,1,last', "one,two", "1,2,3,4", "", '"', 'x,"\n']
)


@given(st.lists(st.one_of(good, bad), max_size=12))
def test_a_broken_line_costs_no_other_record(lines):
    records = [line for line in lines if not isinstance(line, str)]
    content = "".join(
        f"{line}\n" if isinstance(line, str) else written([line]).decode() for line in lines
    )
    with tempfile.TemporaryDirectory() as directory:
        index = indexed(directory, f"a,b,c\n{content}".encode())
        splitter = CsvRecords(tuple("abc"), Columns(tuple("abc")))
        values, fault = splitter.read(index.read(0, 1 << 40))
    rows = zip(*(each.to_pylist() for each in values.values()), strict=True)
    read_well = [row for row, reason in zip(rows, fault.to_pylist(), strict=True) if not reason]
    assert read_well == records


def test_a_quote_that_is_open_for_more_than_a_thousand_lines_was_never_closed(tmp_path):
    longest, broken = "x\n" * 999, "y\n" * 1000
    content = f'a,b\n1,"{longest}"\n2,"{broken}"\n3,c\n'.encode()
    lines = indexed(tmp_path, content).read(0, 1 << 40).to_pylist()
    assert lines[0] == f'1,"{longest}"'.encode()
    assert lines[1:] == [b'2,"y', *[b"y"] * 999, b'"', b"3,c"]


def test_a_quote_that_is_open_for_more_than_a_mebibyte_was_never_closed(tmp_path):
    long = "x" * (1 << 19)
    content = f'a,b\n1,"{long}\n{long[:-9]}"\n2,"{long}\n{long}"\n3,c\n'.encode()
    lines = indexed(tmp_path, content).read(0, 1 << 40).to_pylist()
    expected = [f'1,"{long}\n{long[:-9]}"', f'2,"{long}', f'{long}"', "3,c"]
    assert lines == [line.encode() for line in expected]


def test_a_file_with_a_byte_order_mark_and_line_ends_in_its_header(tmp_path):
    index = indexed(tmp_path, b'\xef\xbb\xbf"a\r\nb",c\r\n"1\r\n2",3\r\n')
    assert CsvFiles().header(index) == ("a\r\nb", "c")
    assert index.read(0, 9).to_pylist() == [b'"1\r\n2",3']
    index = indexed(tmp_path, b'a,"b\n1,2\n')
    assert CsvFiles().header(index) == ("a", "b")
    assert index.read(0, 9).to_pylist() == [b"1,2"]


def test_a_changed_byte_in_a_record_of_several_lines_is_noticed(tmp_path):
    content = b"a,b\n" + b'"1\n1",2\n' * 9
    index = indexed(tmp_path, content)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x04
        (tmp_path / "0.csv").write_bytes(changed)
        with pytest.raises(RunError, match="has changed since the run began"):
            index.read(0, 9)
