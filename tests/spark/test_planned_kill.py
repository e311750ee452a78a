"""A user's stream under `planned`, killed with -9, loses nothing and finds its plans again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow.dataset as ds
import pytest

from evenkey.core.streams import generated
from tests.runs.killing import kill_in_the_middle, running
from tests.spark.planned_stream import EPOCHS, MESSAGES, NAME, WORKERS

BEFORE = 3
"""Number of epochs that end before the kill; the plan of epoch 2 is made from epoch 0."""


@pytest.mark.soak
@pytest.mark.classic("kills the driver's own Java")
@pytest.mark.faults
def test_a_killed_stream_goes_on_from_its_plans(tmp_path):
    program, log = ["tests.spark.planned_stream", str(tmp_path)], tmp_path / "log"
    with running(program, log) as process:
        kill_in_the_middle(process, tmp_path, log, after=BEFORE)
    with running(program, log) as process:
        assert process.wait(timeout=200) == 0, log.read_text()

    rows = ds.dataset(tmp_path / "rows", partitioning="hive").to_table()
    stream = generated(NAME, messages=MESSAGES)
    texts = stream.texts(stream.batch(0, MESSAGES).ids).to_pylist()
    assert Counter(rows["key"].to_pylist()) == Counter(texts)
    loads = np.zeros((EPOCHS, WORKERS))
    np.add.at(loads, (rows["epoch"], rows["worker"]), 1)
    uneven = loads.max(axis=1) / loads.mean(axis=1)
    assert uneven[0] > 3, "it was balanced without a plan: this shows nothing"
    # The killed process began the first of these epochs, and the next process repeated it.
    assert uneven[BEFORE:].max() < 1.5
