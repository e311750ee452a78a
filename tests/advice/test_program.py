"""The code to paste runs as it is printed."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.advice import Recommendation, Setting, advise, check_split
from evenkey.reports.advice.program import program_for
from tests.advice.conftest import sample_of
from tests.tiers import most_in_soak

WORDS = ["to", "be", "or", "not", "to", "be"]
COUNTED = {"to": 2, "be": 2, "or": 1, "not": 1}


def write(split, directory):
    file = directory / f"a 'b'.{split}"
    if split == "csv":
        file.write_text("\n".join(["a word,n", *(f"{word},3" for word in WORDS), ""]))
    elif split == "json":
        file.write_text("".join(json.dumps({"a word": word, "n": 3}) + "\n" for word in WORDS))
    elif split == "parquet":
        pq.write_table(pa.table({"a word": WORDS, "n": [3] * 6}), file)
    elif split == "lines":
        file.write_text("\n".join([*WORDS, "", ""]))
    else:
        file.write_text("To be, or\n\nnot to be\n")
    return file


def results_of(code):
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(code, names)  # noqa: S102 - what users paste
    return {row[0]: row[1] for row in names["results"].collect()}


def advised(grouping, *, combined=False):
    return Recommendation(grouping, 3, combined=combined, reasons=())


def setting_of(split, directory, aggregator=None):
    key = None if split in ("lines", "words") else "a word"
    return Setting((str(write(split, directory)),), split, key, aggregator)


@pytest.mark.slow(3)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "split", most_in_soak(["csv", "json", "parquet", "lines", "words"], 3, slow=["csv", "words"])
)
def test_every_kind_of_input_is_read_and_grouped(split, tmp_path):
    setting = setting_of(split, tmp_path)
    assert results_of(program_for(setting, advised("sg"))) == COUNTED


@pytest.mark.slow(2)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("grouping", most_in_soak(["sg", None, "combined"], 2, slow=["combined"]))
def test_a_composite_key_is_grouped_by_all_of_its_columns(grouping, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a word,b\nto,1\nto,2\nbe,1\nto,1\n")
    setting = Setting((str(file),), "csv", "a word,b", "count" if grouping == "combined" else None)
    one = advised(None if grouping == "combined" else grouping, combined=grouping == "combined")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(program_for(setting, one), names)  # noqa: S102 - what users paste
    rows = {tuple(row)[:2]: row[2] for row in names["results"].collect()}
    assert rows == {("to", "1"): 2, ("to", "2"): 1, ("be", "1"): 1}


@pytest.mark.slow(6)
@pytest.mark.usefixtures("spark")
def test_the_advice_runs_on_the_file_that_it_is_on(setting):
    sample = sample_of("country-skew-r80", 3000)
    advice = advise(sample, setting, [4], groupings=["planned"])
    assert 'grouping="planned",\n    workers=4' in advice.code
    counted = Counter(sample.texts(sample.batch.ids).to_pylist())
    assert results_of(advice.code) == counted


@pytest.mark.slow(1)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("aggregator", "grouping", "combined", "results"),
    [
        ("count", None, True, COUNTED),
        ("sum(column=n)", None, True, {key: 3 * count for key, count in COUNTED.items()}),
        ("mean(column=n)", None, True, dict.fromkeys(COUNTED, 3)),
        (None, None, False, COUNTED),
        ("top-k(k=4)", "kg", False, COUNTED),
    ],
)
def test_every_kind_of_advice(tmp_path, aggregator, grouping, combined, results):
    setting = setting_of("json", tmp_path, aggregator)
    assert results_of(program_for(setting, advised(grouping, combined=combined))) == results


def test_several_files_are_read_together():
    setting = Setting(("a.csv", "b/*.csv"), "csv", "key")
    assert 'spark.read.csv(["a.csv", "b/*.csv"], header=True)' in program_for(
        setting, advised("sg")
    )
    rows = Setting(("a.parquet", "b.parquet"), "parquet", "key")
    assert 'spark.read.parquet("a.parquet", "b.parquet")' in program_for(rows, advised("sg"))


@pytest.mark.slow(3)
@pytest.mark.usefixtures("spark")
def test_records_of_several_lines_are_read_as_such(tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text('word,note\nto,"be ""or""\nnot, to"\nto,be\n"two\nlines",x\n')
    setting = Setting((str(file),), "csv", "word", long_records=True)
    assert results_of(program_for(setting, advised("sg"))) == {"to": 2, "two\nlines": 1}


def test_names_and_paths_of_any_alphabet_are_unchanged():
    setting = Setting(("größe/données.csv",), "csv", "größe,名前")
    program = program_for(setting, advised("sg"))
    assert 'spark.read.csv("größe/données.csv", header=True)' in program
    assert 'key=["größe", "名前"],' in program


def test_raw_formats_are_refused():
    with pytest.raises(ConfigurationError, match="evenkey simulate"):
        check_split("twitter-election")
