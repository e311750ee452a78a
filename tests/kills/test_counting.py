"""The independent count, and the comparison with it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
import shapely

from tests.kills.counting import difference, expected, found
from tests.kills.inputs import ORIGIN, WINDOW_SECONDS, Message, write_lines, write_parts
from tests.kills.shapes import all_pairs
from tests.kills.summary import kills_of, summary

MESSAGES = [Message(0, "a", 2), Message(0, "a", 4), Message(0, "b", 1), Message(1, "a", 4)]


@pytest.mark.parametrize(
    ("aggregator", "rows"),
    [
        ("count", [(0, "a", 2), (0, "b", 1), (1, "a", 1)]),
        ("sum", [(0, "a", 6), (0, "b", 1), (1, "a", 4)]),
        ("mean", [(0, "a", 3.0), (0, "b", 1.0), (1, "a", 4.0)]),
        ("tally", [(0, "a", 2, 1), (0, "a", 4, 1), (0, "b", 1, 1), (1, "a", 4, 1)]),
        ("histogram", [(0, "a", (2, 4), (1, 1)), (0, "b", (1,), (1,)), (1, "a", (4,), (1,))]),
        ("top-k", [(0, "a", 2, 0), (0, "b", 1, 0), (1, "a", 1, 0)]),
    ],
)
def test_messages_are_counted_by_window_and_key(aggregator, rows):
    assert expected(aggregator, MESSAGES) == Counter(rows)


def test_lost_and_doubled_rows_are_distinguished():
    start = ORIGIN + timedelta(seconds=WINDOW_SECONDS)
    row = {"window_start": start, "key": "a", "count": 1}
    wanted = expected("count", MESSAGES)
    said = difference("results", wanted, found("count", [row, row]))
    assert len(said) == 1
    assert "2 rows missing, 1 too many of 3" in said[0]
    assert not difference("results", wanted, wanted)
    without_zone = {**row, "window_start": start.replace(tzinfo=None)}
    assert found("count", [without_zone]) == found("count", [row])


@pytest.mark.parametrize("name", ["lines.txt", "words.txt.bz2", "records.jsonl.gz", "records.csv"])
def test_an_input_is_the_same_for_its_seed(tmp_path, name):
    first, again, other = (
        write_lines(tmp_path / str(number) / name, seed)
        for number, seed in enumerate(["x", "x", "y"])
    )
    assert first == again != other
    assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()
    assert first.rejected
    assert len({message.window for message in first.messages}) > 2


def test_a_stream_has_rows_without_a_user(tmp_path):
    messages = write_parts(tmp_path / "in", "x", compressed=True)
    assert None in {message.key for message in messages}


def test_pairs_are_found_by_comparing_everything():
    shapes = [shapely.Point(1, 1), shapely.Point(9, 9), None]
    encoded = [None if each is None else shapely.to_wkb(each) for each in shapes]
    publications = pa.table({"publication": np.arange(3), "geometry": pa.array(encoded)})
    box = shapely.to_wkb(shapely.box(0, 0, 2, 2))
    subscriptions = pa.table(
        {
            "subscription": [10, 11, 12],
            "relation": ["within", "covers", "contains"],
            "geometry": pa.array([box, box, box]),
        }
    )
    assert all_pairs(publications, subscriptions) == (Counter([(0, 11), (0, 12)]), [2])


def test_only_kills_that_hit_are_counted():
    kill = {"run": 0, "kind": "jvm", "phase": "inside", "hit": True, "faults": []}
    run = {
        "run": 0,
        "subject": "join",
        "kills": 1,
        "exact": False,
        "faults": ["lost"],
        "repeat": "x",
    }
    missed = {"run": 0, "kind": "jvm", "hit": False, "faults": []}
    assert kills_of([kill, missed, run]) == 1
    table = summary([kill, missed, run]).splitlines()
    assert table[1].split() == ["jvm", "0", "1", "0", "0", "1"]
    assert ["join", "1", "1", "0", "1"] in [line.split() for line in table]
    assert "  lost" in table
