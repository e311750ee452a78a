"""Decision trees on Spark: the same tree under every grouping, through a pause, from files."""

from __future__ import annotations

import csv

import pytest

from evenkey.applications import ApplicationConfig, Clusters, DecisionTree, InProcess, run
from evenkey.groupings import available

pytestmark = pytest.mark.usefixtures("spark")

TREE = "decision-tree(max_depth=2,min_leaf=2)"
RECORDS = 240
"""So few in three epochs that histograms of 64 bins lose nothing, under any grouping."""
DATASET = "clusters(features=3,classes=2)"
OPTIONS = {"workers": 3, "sources": 2, "epochs": 3}


def records(start=0, stop=RECORDS):
    return Clusters(features=3, classes=2, length=RECORDS).records(start, stop)


def config(**options):
    return ApplicationConfig(
        application=TREE, dataset=DATASET, messages=RECORDS, **{**OPTIONS, **options}
    )


def in_process(grouping="kg"):
    learner = DecisionTree(max_depth=2, min_leaf=2)
    size = RECORDS // 3
    epochs = [records(start, start + size) for start in range(0, RECORDS, size)]
    return InProcess(learner, grouping, workers=3).train(epochs)


@pytest.mark.parametrize("grouping", ["kg", "pkg", "sg", "dkg", "planned"])
def test_the_tree_is_that_of_one_process(grouping):
    report = run(config(grouping=grouping), prepare=False)
    assert report.model.to_table().equals(in_process().model.to_table(), check_metadata=True)
    cells = in_process().counters.sum(axis=1)
    most = {"kg": 1, "pkg": 2}.get(grouping, 3)
    for learned, least in zip(report.learned, cells, strict=True):
        assert least <= sum(learned.counters) <= most * least
