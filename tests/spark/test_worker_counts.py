"""The counts of workers for the plan of the next epoch, without Spark."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evenkey.aggregators import parse
from evenkey.groupings import KeyCounts, PlannedGrouping
from evenkey.spark.aggregates import key_counts as worker_counts
from evenkey.spark.aggregates.key_counts import HASH, CountingWorker

WORKERS = 3


class Learning:
    """Stores the statistics that are reported to it."""

    tables = SimpleNamespace(workers=WORKERS)

    def __init__(self):
        self.reported = []

    def report(self, task, statistics):
        self.reported.append((task, KeyCounts.from_arrays(statistics.memory)))


@pytest.fixture
def hold(monkeypatch):
    """Run a worker on messages with these hashes, and return the statistics that it reports."""
    monkeypatch.setattr(worker_counts, "current_epoch", lambda: "this epoch")

    def held(hashes, batch_rows=100):
        columns = {"key": hashes.astype(str), HASH: hashes.view(np.int64)}
        messages = pa.table(columns)
        learning: Any = Learning()
        bound = parse("count").bind(messages.select(["key"]).schema)
        worker = CountingWorker(bound, ("key",), learning, PlannedGrouping())
        list(worker(messages.to_batches(max_chunksize=batch_rows)))
        return learning.reported

    return held


@pytest.mark.parametrize("at_once", [1, 100, 350, 1 << 20])
def test_counts_are_exact_however_many_hashes_are_counted_at_once(hold, monkeypatch, at_once):
    monkeypatch.setattr(worker_counts, "_HELD", at_once)
    ranks = np.random.default_rng(0).zipf(1.3, 1000).astype(np.uint64)
    hashes = ranks * np.uint64(0x9E3779B97F4A7C15)
    ((task, counts),) = hold(hashes)
    assert task == "this epoch"
    assert dict(zip(counts.keys.tolist(), counts.loads.tolist(), strict=True)) == Counter(
        hashes.tolist()
    )
    buckets = PlannedGrouping().bucket_count(WORKERS)
    in_buckets = Counter((hashes % np.uint64(buckets)).tolist())
    assert counts.bucket_loads.tolist() == [in_buckets[bucket] for bucket in range(buckets)]


def test_a_worker_without_messages_leaves_nothing(hold):
    assert hold(np.zeros(0, dtype=np.uint64)) == []
