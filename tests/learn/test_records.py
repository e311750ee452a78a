"""Labelled records of messy files: broken lines become dead letters and affect no other record."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.applications import DecisionTree, NaiveBayes
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.learn.config import LearnConfig
from evenkey.pipeline.learn.kept_records import keep_records

LINES = [
    b"green tea,tea",
    b"one,two,three",
    b"alone",
    b'"a ""quoted"", word",bar',
    b'"over two',
    b'lines",bar',
    b'"an open quote,tea',
    b'a "quote" inside,tea',
    b"after it,tea",
    b"not utf-8 \xff,tea",
    b"",
    b"no label,",
    b'"never closed,tea',
    b"the last,bar",
]
GOOD = [
    ("tea", "green tea"),
    ("bar", 'a "quoted", word'),
    ("bar", "over two\nlines"),
    ("tea", 'a "quote" inside'),
    ("tea", "after it"),
    ("bar", "the last"),
]


def kept(path, tmp_path, learner, **options):
    config = LearnConfig(input=path, label="label", **options)
    target = tmp_path / "kept.parquet"
    found = keep_records(config, learner, target, tmp_path)
    return pq.read_table(target), found.rejected.to_pylist()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_broken_line_of_csv_affects_no_other(tmp_path, end):
    path = tmp_path / "mail.csv"
    path.write_bytes(end.join([b"\xef\xbb\xbftext,label", *LINES]))
    table, dead_letters = kept(path, tmp_path, NaiveBayes(), text="text")
    ends = "\r\n" if end == b"\r\n" else "\n"
    good = [(label, text.replace("\n", ends)) for label, text in GOOD]
    assert [(row["label"], row["text"]) for row in table.to_pylist()] == good
    assert [(each["position"], each["reason"]) for each in dead_letters] == [
        (1, "the record's number of fields is 3, the header's is 2"),
        (2, "the record's number of fields is 1, the header's is 2"),
        (5, "not a CSV record: a quote is not closed"),
        (8, "not UTF-8: invalid start byte at byte 10"),
        (9, "the label is empty"),
        (10, "not a CSV record: a quote is not closed"),
    ]
    assert dead_letters[0]["line"] == "one,two,three"
    assert dead_letters[5]["line"] == '"never closed,tea'


def test_broken_lines_of_json(tmp_path):
    path = tmp_path / "mail.jsonl"
    good = json.dumps({"text": "green tea", "label": 7}).encode()
    bad = {
        b"{": "not JSON: ",
        b"[1]": "not a JSON object",
        b'{"text": "x"}': "label is null",
        b'{"label": "tea", "text": ["a"]}': "field 'text' is not a single value",
        b'{"label": "tea", "text": "\\ud800"}': "field 'text' has half a character",
        b"\xff": "not UTF-8",
        b"[" * 100_000: "not JSON: ",
    }
    path.write_bytes(b"\n".join([good, *bad, good]))
    table, dead_letters = kept(path, tmp_path, NaiveBayes(), text="text")
    assert table.to_pylist() == [{"label": "7", "text": "green tea"}] * 2
    assert [each["position"] for each in dead_letters] == list(range(1, 8))
    for each, reason in zip(dead_letters, bad.values(), strict=True):
        assert each["reason"].startswith(reason)


NUMBERS = ["1", " 2.5 ", "+3e2", "-.5", "abc", "", "NA", "nan", "inf", "1_000", "0x10", "7."]
REASONS = {
    4: "x 'abc' is not a number",
    5: "x is null",
    6: "x is null",
    7: "x is not finite",
    8: "x is not finite",
    9: "x '1_000' is not a number",
    10: "x '0x10' is not a number",
}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_texts_where_numbers_should_be(tmp_path, suffix):
    path = tmp_path / f"points{suffix}"
    rows = [{"x": each, "y": "1", "label": "a"} for each in NUMBERS]
    if suffix == ".csv":
        lines = ["x,y,label", *(f"{each},1,a" for each in NUMBERS)]
        path.write_text("\n".join(lines))
    elif suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    table, dead_letters = kept(path, tmp_path, DecisionTree(), features="x,y")
    assert [row["features"] for row in table.to_pylist()] == [
        [1.0, 1.0],
        [2.5, 1.0],
        [300.0, 1.0],
        [-0.5, 1.0],
        [7.0, 1.0],
    ]
    assert {each["position"]: each["reason"] for each in dead_letters} == REASONS


def test_columns_of_mostly_numbers_are_features(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,note,y,label\noops,a,1,p\n1,b,2,q\n2,3,3,p\n3,c,x,q\n")
    table, dead_letters = kept(path, tmp_path, DecisionTree())
    assert [row["features"] for row in table.to_pylist()] == [[1.0, 2.0], [2.0, 3.0]]
    assert [each["reason"] for each in dead_letters] == [
        "x 'oops' is not a number",
        "y 'x' is not a number",
    ]


def test_files_may_have_their_columns_in_any_order(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("label,text\na,one\n")
    (tmp_path / "in" / "2.csv").write_text("text,more,label\ntwo,,b\n")
    (tmp_path / "in" / "3.csv").write_text("label,text\n")
    config = LearnConfig(input=tmp_path / "in", split="csv", label="label", text="text")
    found = keep_records(config, NaiveBayes(), tmp_path / "kept.parquet", tmp_path)
    assert found.rows == 2
    (tmp_path / "in" / "4.csv").write_text("label,words\n")
    with pytest.raises(ConfigurationError, match=r"4\.csv has no column 'text'; it has: label"):
        keep_records(config, NaiveBayes(), tmp_path / "kept.parquet", tmp_path)


def test_a_field_that_no_record_has_is_named_before_writing(tmp_path):
    path = tmp_path / "mail.jsonl"
    path.write_text('{"text": "one", "kind": "a"}\n')
    with pytest.raises(ConfigurationError, match="has no column 'label'; it has: text, kind"):
        kept(path, tmp_path, NaiveBayes(), text="text")
    assert [each.name for each in tmp_path.iterdir()] == ["mail.jsonl"]


def test_many_open_quotes_do_not_consume_the_rest(tmp_path):
    path = tmp_path / "pipes.csv"
    lines = [f'"{number} pipe,a' for number in range(501)]
    path.write_text("\n".join(["text,label", *lines, *["fine,b"] * 20_000]))
    table, dead_letters = kept(path, tmp_path, NaiveBayes(), text="text")
    assert (table.num_rows, len(dead_letters)) == (20_000, 501)
