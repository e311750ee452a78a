"""Joins on a cluster load static partitions once, and balance the load by moving some."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark import TaskContext

from evenkey.joins import DynamicDistributor, balanced_join
from tests.epochs import run_epochs
from tests.spark.offered import offer, stream_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODES = ["static-stal", "dynamic-db-stal", "dynamic-lb-stal"]
WORKERS, PARTITIONS, EPOCHS, PUBLICATIONS = 4, 16, 3, 3000
THRESHOLD = 0.5
"""MLDC above which partitions move: the default, as in the paper."""


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Join the same publications in each mode, on two executors with one core each."""
    place = tmp_path_factory.mktemp("joins") / "out"
    options = {
        "modes": ",".join(MODES),
        "master": "local-cluster[2,1,1024]",
        "pipeline": "spis",
        "skew": 0.7,
        "publications": PUBLICATIONS,
        "subscriptions": 1000,
        "polygon-share": 0,
        "workers": WORKERS,
        "partitions": PARTITIONS,
        "epochs": EPOCHS,
        "min-items": 100,
        "seconds": 12 * EPOCHS,
        "output": place,
    }
    command = [sys.executable, "-m", "evenkey", "join", "compare", "--json", "--verify"]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return place


def records_of(output: Path, mode: str) -> list[list[dict[str, Any]]]:
    """Return the work that each slot recorded, by epoch."""
    epochs = defaultdict(list)
    for file in (output / mode / "state" / "epochs").glob("*/epoch=*/slot-*.json"):
        epochs[file.parent.name].append(json.loads(file.read_text()))
    return [epochs[name] for name in sorted(epochs)]


def distances_of(records: list[list[dict[str, Any]]]) -> list[float]:
    """Return (max - mean) / mean of the items of slots in each epoch."""
    distances = []
    for slots in records:
        loads = np.zeros(WORKERS)
        for slot in slots:
            loads[slot["slot"]] += sum(each[0] for each in slot["work"].values())
        distances.append(float((loads.max() - loads.mean()) / loads.mean()))
    return distances


def loads_of(records: list[list[dict[str, Any]]]) -> list[int]:
    return [sum(len(slot["loaded"]) for slot in slots) for slots in records]


@pytest.mark.timeout(900)
def test_static_partitions_are_loaded_once_and_moving_some_balances_the_load(output):
    records = {mode: records_of(output, mode) for mode in MODES}
    assert {len(each) for each in records.values()} == {EPOCHS}
    # All static partitions are loaded in the first epoch, and those that do not move never again.
    assert loads_of(records["static-stal"]) == [PARTITIONS] + [0] * (EPOCHS - 1)
    static = distances_of(records["static-stal"])
    assert min(static) > 2 * THRESHOLD
    data, load = (loads_of(records[mode]) for mode in MODES[1:])
    assert data[0] == load[0] == PARTITIONS
    # A partition that moves is loaded once more, by its new slot.
    assert 0 < sum(data[1:]) < PARTITIONS
    # LB balances processor time, of which so few items take little: whether partitions move depends
    # on the machine. The test of LB below has items that take some.
    assert sum(load[1:]) < PARTITIONS
    balanced = distances_of(records["dynamic-db-stal"])
    assert balanced[0] == pytest.approx(static[0])
    assert balanced[-1] < THRESHOLD


def test_all_modes_write_the_same_matches(output):
    matches = []
    for mode in MODES:
        rows = ds.dataset(output / mode / "results", format="parquet").to_table().to_pylist()
        matches.append(
            Counter((row["publication"], each) for row in rows for each in row["subscriptions"])
        )
    assert matches[0] == matches[1] == matches[2]
    assert set(matches[0].values()) == {1}
    assert len({publication for publication, _ in matches[0]}) > PUBLICATIONS // 4


KEYS, ROWS_OF_A_KEY = 40, 5
COSTLY = (3, 4, 8, 17, 21, 23, 25, 34)
"""Keys whose rows take the most time. All of them belong to one slot at first."""


def cost_ms(key: int) -> float:
    """Return the milliseconds of processor time that a row of a key takes."""
    return 4.0 if key in COSTLY else 0.2


def costly(joined: pa.Table) -> pa.Table:
    """Spend the processor time that rows cost, and add the number of their slot."""
    end = time.thread_time() + sum(joined["cost"].to_pylist()) / 1000
    while time.thread_time() < end:
        pass
    context = TaskContext.get()
    assert context is not None
    slots = pa.array([context.partitionId()] * joined.num_rows, pa.int32())
    return joined.select(["key", "row", "price"]).append_column("slot", slots)


def distance(loads: Mapping[int, float]) -> float:
    """Return (max - mean) / mean of the loads of slots."""
    return max(loads.values()) * WORKERS / sum(loads.values()) - 1


def test_balancing_by_time_moves_partitions_whose_rows_are_few_but_costly(session, tmp_path):
    rows = EPOCHS * KEYS * ROWS_OF_A_KEY
    began = datetime(2026, 1, 1, tzinfo=UTC)
    # 12 s of event time in each epoch: the load is checked after each.
    step = timedelta(seconds=12 * EPOCHS / rows)
    input_rows = pa.table(
        {
            "key": pa.array([row % KEYS for row in range(rows)], pa.int64()),
            "row": pa.array(range(rows), pa.int64()),
            "time": pa.array(
                [began + step * row for row in range(rows)], pa.timestamp("us", "UTC")
            ),
        }
    )
    size = rows // EPOCHS
    offer(tmp_path / "in", [input_rows.slice(epoch * size, size) for epoch in range(EPOCHS)])
    static = session.createDataFrame(
        [(key, cost_ms(key), 10.0 * key) for key in range(KEYS)],
        "key bigint, cost double, price double",
    )
    joined = balanced_join(
        stream_of(session, tmp_path / "in"),
        static,
        "key",
        workers=WORKERS,
        partitions=PARTITIONS,
        balance="load",
        state=tmp_path / "state",
        time="time",
        distributor=DynamicDistributor(min_items=100),
        then=costly,
        schema="key bigint, row bigint, price double, slot int",
    )
    epochs = run_epochs(joined, tmp_path / "checkpoint")
    found = [epochs[epoch].to_pylist() for epoch in range(EPOCHS)]
    written = Counter((each["key"], each["row"], each["price"]) for part in found for each in part)
    assert written == Counter((row % KEYS, row, 10.0 * (row % KEYS)) for row in range(rows))
    # The judge counts written rows, and not the loads that the Distributor measured.
    counts, costs = [], []
    for part in found:
        counts.append(distance(Counter(each["slot"] for each in part)))
        spent = dict.fromkeys(range(WORKERS), 0.0)
        for each in part:
            spent[each["slot"]] += cost_ms(each["key"])
        costs.append(distance(spent))
    assert counts[0] < THRESHOLD  # balancing rows would move nothing
    assert costs[0] > 2 * THRESHOLD
    assert costs[-1] < THRESHOLD
