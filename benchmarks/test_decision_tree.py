"""The streaming decision tree on a million records: time, accuracy, and number of histograms.

``make bench`` runs it with the others; ``pytest -m benchmark benchmarks/test_decision_tree.py``
runs it alone. The stream `Clusters` (8 features, 4 classes of 3 clusters, seed 0) is read once in
20 epochs, in one process with 10 workers and 2 sources. For comparison, scikit-learn's tree of the
same depth gets all records together. Both are tested on 50,000 further records.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from evenkey.applications import Clusters, DecisionTree, InProcess
from evenkey.applications.trees.model import feature_matrix

RECORDS, UNSEEN, EPOCHS, DEPTH, WORKERS = 1_000_000, 50_000, 20, 6, 10
STREAM = Clusters(length=RECORDS + UNSEEN)


@pytest.fixture(scope="module")
def epochs():
    size = RECORDS // EPOCHS
    return [STREAM.records(start, start + size) for start in range(0, RECORDS, size)]


@pytest.fixture(scope="module")
def unseen():
    records = STREAM.records(RECORDS, RECORDS + UNSEEN)
    return feature_matrix(records["features"]), np.array(records["label"].to_pylist())


@pytest.fixture(scope="module")
def scikit_accuracy(epochs, unseen):
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(
        max_depth=DEPTH, random_state=0
    )
    values = np.concatenate([feature_matrix(epoch["features"]) for epoch in epochs])
    labels = [label for epoch in epochs for label in epoch["label"].to_pylist()]
    start = time.perf_counter()
    tree.fit(values, labels)
    return tree.score(*unseen), time.perf_counter() - start


@pytest.mark.benchmark
@pytest.mark.parametrize("grouping", ["kg", "pkg", "sg"])
def test_grow(benchmark, report, epochs, unseen, scikit_accuracy, grouping):
    run = InProcess(DecisionTree(max_depth=DEPTH), grouping, WORKERS, sources=2)
    trained = benchmark.pedantic(run.train, args=(epochs,), rounds=1, warmup_rounds=0)
    values, labels = unseen
    right = (np.array(trained.model.classify(values).to_pylist()) == labels).mean()
    theirs, seconds = scikit_accuracy
    most, largest = trained.counters.sum(axis=1).max(), trained.counters.max()
    benchmark.extra_info |= {"accuracy": right, "scikit_learn": theirs, "histograms": int(most)}
    name = f"decision-tree, {grouping}"
    report(f"{name}: accuracy", f"{right:.2%}", f">= {theirs - 0.02:.2%}")
    report(f"{name}: histograms held, and by one worker", f"{most} {largest}", "")
    speed = RECORDS / benchmark.stats.stats.median
    report(f"{name}: records/s", f"{speed:,.0f}", f"scikit-learn: {RECORDS / seconds:,.0f}")
