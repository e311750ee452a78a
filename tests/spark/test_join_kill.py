"""A user's stream, joined with a batch and killed with -9: exact pairs, balanced workers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow.dataset as ds
import pytest

from evenkey.core.streams import generated
from tests.runs.killing import kill_in_the_middle, running
from tests.spark.joined_stream import EPOCHS, MESSAGES, NAME, WORKERS

BEFORE = 3
"""Number of epochs that end before the kill; the plan of epoch 2 is made from epoch 0."""


@pytest.mark.soak
@pytest.mark.classic("kills the driver's own Java")
def test_a_killed_join_goes_on_from_its_plans(tmp_path):
    program, log = ["tests.spark.joined_stream", str(tmp_path)], tmp_path / "log"
    with running(program, log) as process:
        kill_in_the_middle(process, tmp_path, log, after=BEFORE)
    with running(program, log) as process:
        assert process.wait(timeout=250) == 0, log.read_text()

    rows = ds.dataset(tmp_path / "rows", partitioning="hive").to_table()
    stream = generated(NAME, messages=MESSAGES)
    texts = Counter(stream.texts(stream.batch(0, MESSAGES).ids).to_pylist())
    pairs = Counter(zip(rows["key"].to_pylist(), rows["side"].to_pylist(), strict=True))
    assert pairs == {(key, side): count for key, count in texts.items() for side in "ab"}
    loads = np.zeros((EPOCHS, WORKERS))
    np.add.at(loads, (rows["epoch"], rows["worker"]), 1)
    uneven = loads.max(axis=1) / loads.mean(axis=1)
    assert uneven[0] > 3, "it was balanced without a plan: this shows nothing"
    assert uneven[BEFORE:].max() < 1.5
