"""Programs with keyed state that are killed with -9 at any time, and on a small cluster."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.processes import end_session, members
from tests.runs.killing import running
from tests.spark.offered import offer
from tests.spark.states.purchases import ROWS, expected, purchases

EPOCHS, KILLS = 45, 10


def results(spark, directory):
    rows = spark.read.parquet(str(directory / "out")).collect()
    return Counter(map(tuple, rows))


def committed(directory):
    return len([*(directory / "checkpoint" / "commits").glob("[0-9]*")])


def read(directory):
    """Return the rows that Spark read in each epoch, by its own logs.

    If it is killed after it has listed files, and before it has begun an epoch with them, the next
    run lists further files for the same epoch.
    """
    logs = directory / "checkpoint"
    listed = {}
    for each in (logs / "sources" / "0").glob("[0-9]*"):
        for line in each.read_text().splitlines()[1:]:
            entry = json.loads(line)
            listed[Path(urlsplit(entry["path"]).path)] = entry["batchId"]
    epochs, before = [], -1
    for each in sorted((logs / "offsets").glob("[0-9]*"), key=lambda path: int(path.name)):
        last = json.loads(each.read_text().splitlines()[-1])["logOffset"]
        files = sorted(file for file, number in listed.items() if before < number <= last)
        epochs.append(pa.concat_tables([pq.read_table(file) for file in files]))
        before = last
    assert sum(each.num_rows for each in epochs) == EPOCHS * ROWS
    return epochs


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.timeout(3000)
@pytest.mark.classic("the killed program has a classic session")
def test_a_program_that_is_killed_ten_times_is_exact(session, tmp_path):
    epochs = [purchases(epoch) for epoch in range(EPOCHS)]
    offer(tmp_path / "input", epochs)
    draw = random.Random(1)  # noqa: S311 - reproducible times of kills
    program, hits = ["tests.spark.states.purchases", str(tmp_path), "local[2]"], 0
    for kill in range(KILLS):
        log = tmp_path / f"log-{kill}"
        before = committed(tmp_path)
        with running(program, log) as process:
            # The program is killed within one of the next epochs.
            while process.poll() is None and committed(tmp_path) < min(before + 1, EPOCHS - 1):
                time.sleep(0.05)
            time.sleep(draw.uniform(0, 1.5))
            if process.poll() is None:
                hits += 1
                end_session(process.pid)
    assert hits == KILLS, "the program ended before it was killed"
    log = tmp_path / "log"
    with running(program, log) as process:
        assert process.wait(timeout=900) == 0, log.read_text()
    assert results(session, tmp_path) == sum(expected(read(tmp_path)), Counter())


def records(directory):
    """Return the slots' records of each epoch, and its plan."""
    (query,) = (directory / "state" / "queries").iterdir()
    for folder in sorted((query / "epochs").iterdir()):
        found = [json.loads(each.read_text()) for each in folder.glob("records-*/*.json")]
        plans = [json.loads(each.read_text()) for each in folder.glob("plan-*.json")]
        yield found, plans


@pytest.mark.soak
@pytest.mark.timeout(1500)
@pytest.mark.classic("the program has a local cluster")
def test_on_a_cluster_only_partitions_that_moved_are_loaded(session, tmp_path):
    epochs = [purchases(epoch) for epoch in range(30)]
    offer(tmp_path / "input", epochs)
    program = ["tests.spark.states.purchases", str(tmp_path), "local-cluster[3,1,1024]"]
    log = tmp_path / "log"
    with running(program, log) as process:
        assert process.wait(timeout=1200) == 0, log.read_text()
    assert results(session, tmp_path) == sum(expected(epochs), Counter())
    moved = set()
    for found, plans in records(tmp_path):
        moved |= {partition for plan in plans for partition in plan["moved"]}
        # A hot key comes from the partition of its hash, and goes back to it.
        moved |= {each for plan in plans for _, *both in plan["regrouped"] for each in both}
        loaded = {int(each) for record in found for each in record["loaded"]}
        assert loaded <= moved
    assert moved, "no partition has moved: this shows nothing"


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.timeout(1500)
@pytest.mark.classic("the program has a local cluster")
def test_a_cluster_that_loses_executors_is_exact(session, tmp_path):
    epochs = [purchases(epoch) for epoch in range(20)]
    offer(tmp_path / "input", epochs)
    program = ["tests.spark.states.purchases", str(tmp_path), "local-cluster[3,1,1024]"]
    log, lost = tmp_path / "log", 0
    with running(program, log) as process:
        for after in (3, 6, 9, 12):
            while process.poll() is None and committed(tmp_path) < after:
                time.sleep(0.05)
            lost += kill_an_executor(process.pid)
        assert process.wait(timeout=1200) == 0, log.read_text()
    assert lost > 0
    assert results(session, tmp_path) == sum(expected(epochs), Counter())


def kill_an_executor(session_of):
    """Kill one executor of a program; return the number of executors that were killed."""
    for each in members(session_of):
        if any("CoarseGrainedExecutorBackend" in word for word in each.words):
            os.kill(each.pid, signal.SIGKILL)
            return 1
    return 0
