"""The speed of the streaming decision tree on a million records.

``make bench`` runs it with the others; ``pytest -m benchmark benchmarks/test_decision_tree.py``
runs it alone. It trains the trees of depth 6 of `benchmarks/learners.py`, which prints what they
hold and how accurate they are. For comparison, scikit-learn's tree gets all records together.
"""

from __future__ import annotations

import time

import pytest
from sklearn.tree import DecisionTreeClassifier

from benchmarks import learners
from evenkey.applications import DecisionTree, InProcess

DEPTH = 6


@pytest.fixture(scope="module")
def epochs():
    return learners.epochs()


@pytest.fixture(scope="module")
def scikit_seconds(epochs):
    records = learners.matrix(epochs)
    start = time.perf_counter()
    DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(*records)
    return time.perf_counter() - start


@pytest.mark.benchmark
@pytest.mark.parametrize("grouping", ["kg", "pkg", "sg"])
def test_grow(benchmark, report, epochs, scikit_seconds, grouping):
    run = InProcess(DecisionTree(max_depth=DEPTH), grouping, learners.WORKERS, sources=2)
    benchmark.pedantic(run.train, args=(epochs,), rounds=1, warmup_rounds=0)
    speed = learners.RECORDS / benchmark.stats.stats.median
    theirs = learners.RECORDS / scikit_seconds
    name = f"decision-tree, {grouping}: records/s"
    report(name, f"{speed:,.0f}", f"scikit-learn: {theirs:,.0f}")
