"""A tree grows from messages and obeys its stopping rules, for any batches and groupings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from evenkey.applications.trees import Clusters, DecisionTree
from evenkey.applications.trees.decision_tree import CLASS
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.groupings import available
from evenkey.pipeline.learn.in_process import InProcess

WORKERS = 6


def grid_records(count, seed=0):
    """Return points of a grid so coarse that 16-bin histograms are exact; two features decide."""
    points = np.random.default_rng(seed).integers(0, 12, (count, 4))
    labels = np.where(points[:, 1] > 6, "high", np.where(points[:, 3] > 3, "middle", "low"))
    return records_of(points, labels)


def records_of(points, labels):
    lists = pa.array([list(map(float, point)) for point in points], pa.list_(pa.float64()))
    return pa.table({"label": [str(label) for label in labels], "features": lists})


def grow(tree, epochs, grouping="pkg", **options):
    return InProcess(tree, grouping, WORKERS, **{"sources": 2, "batch": 100} | options).train(
        epochs
    )


def test_a_tree_grows_deeper_each_epoch_and_finds_the_tests():
    records = grid_records(600)
    trained = grow(DecisionTree(bins=16), [records] * 3)
    model = trained.model
    assert model.depth == 2
    tests = [
        (feature, threshold)
        for feature, threshold in zip(model.features, model.thresholds, strict=True)
        if feature >= 0
    ]
    assert sorted(tests) == [(1, 6.0), (3, 3.0)]
    assert model.predict(records).to_pylist() == records["label"].to_pylist()


@pytest.mark.soak
@pytest.mark.parametrize("grouping", sorted(set(available()) - {"pkg"}))
def test_every_grouping_grows_the_same_tree(grouping):
    epochs = [grid_records(250, seed) for seed in range(3)]
    tree = DecisionTree(bins=16, max_depth=3)
    one, other = (grow(tree, epochs, each).model.to_table() for each in ("pkg", grouping))
    assert one.equals(other, check_metadata=True)


@pytest.mark.slow(2)
@pytest.mark.parametrize("batch", [37, 299])
def test_any_cut_of_an_epoch_grows_the_same_tree(batch):
    epochs = [grid_records(300, seed) for seed in range(3)]
    one, other = (
        grow(DecisionTree(bins=16), epochs, batch=each).model.to_table() for each in (100, batch)
    )
    assert one.equals(other, check_metadata=True)


def test_continuing_from_a_model_equals_an_uninterrupted_run():
    stream = Clusters(length=1200, features=3)
    epochs = [stream.records(start, start + 300) for start in range(0, 1200, 300)]
    tree = DecisionTree(bins=16)
    run = InProcess(tree, "kg", WORKERS)
    half = tree.restore(run.train(epochs[:2]).model.to_table())
    resumed = run.train(epochs[2:], half).model
    assert resumed.to_table().equals(run.train(epochs).model.to_table(), check_metadata=True)


@pytest.mark.slow(5)
def test_histograms_held_are_few_under_pkg_and_many_under_sg():
    """PKG paper, section 4.1: 2 D C L under pkg, W D C L under sg."""
    # If there were as many features as workers, round-robin would keep each on one worker.
    stream = Clusters(length=12_000, features=7, classes=3)
    epochs = [stream.records(start, start + 3000) for start in range(0, 12_000, 3000)]
    tree = DecisionTree(max_depth=4, bins=64)
    held = {}
    for grouping in ("kg", "pkg", "sg"):
        trained = grow(tree, epochs, grouping, batch=1000)
        held[grouping] = trained.counters.sum(axis=1)
        copies = {"kg": 1, "pkg": 2, "sg": WORKERS}[grouping]
        leaves = 2 ** np.arange(4)
        assert (held[grouping] <= copies * 7 * 3 * leaves).all()
    cells = held["kg"]
    assert cells[0] == 7 * 3
    assert held["sg"][0] == WORKERS * 7 * 3
    assert (held["pkg"] <= 2 * cells).all()
    assert (held["sg"] > 2 * held["pkg"]).all()


def test_records_of_leaves_that_cannot_split_are_one_message():
    tree = DecisionTree(bins=16, max_depth=1)
    records = grid_records(200)
    trained = grow(tree, [records] * 3)
    assert trained.messages.sum(axis=1).tolist() == [800, 200, 200]
    messages = tree.messages(records, trained.model)
    assert messages["key"].unique().to_pylist() == [CLASS]
    leaves = trained.model.leaves
    # The split's estimate for the first epoch, and the records of the two other epochs.
    assert trained.model.counts[leaves].sum() == 600


@pytest.mark.slow(4)
def test_leaves_are_limited_and_the_best_splits_come_first():
    records = grid_records(600)
    trained = grow(DecisionTree(bins=16, max_leaves=2, min_leaf=1), [records] * 3)
    assert len(trained.model.leaves) == 2
    stream = Clusters(length=1000, features=3).records(0, 1000)
    model = grow(DecisionTree(max_leaves=7, min_leaf=1), [stream] * 5).model
    assert len(model.leaves) == 7


def test_small_and_pure_leaves_are_not_split():
    records = grid_records(30)
    assert grow(DecisionTree(bins=16, min_leaf=16), [records]).model.depth == 0
    pure = records_of(np.arange(40).reshape(-1, 1), ["only"] * 40)
    assert grow(DecisionTree(bins=64), [pure]).model.depth == 0
    assert grow(DecisionTree(bins=16, min_gain=0.9), [grid_records(200)]).model.depth == 0


def test_classes_may_appear_later():
    first = records_of([[1], [2]] * 10, ["b", "b"] * 10)
    later = records_of([[1], [9]] * 10, ["b", "a"] * 10)
    model = grow(DecisionTree(), [first, later]).model
    assert model.classes == ("a", "b")
    assert model.classify(np.array([[1.0], [9.0]])).to_pylist() == ["b", "a"]


def test_an_epoch_without_records_changes_nothing():
    records = grid_records(100)
    tree = DecisionTree(bins=16)
    trained = grow(tree, [records, records.slice(0, 0)])
    assert trained.messages.sum(axis=1).tolist() == [400, 0]
    assert trained.model.to_table().equals(grow(tree, [records]).model.to_table())


def test_values_that_are_not_numbers_are_rejected():
    with pytest.raises(RunError, match="value nan"):
        grow(DecisionTree(), [records_of([[1.0], [float("nan")]], "ab")])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_depth", 0),
        ("max_leaves", 1),
        ("min_leaf", 0),
        ("min_gain", -0.1),
        ("min_gain", float("nan")),
        ("candidates", 1),
        ("bins", 1),
    ],
)
def test_bad_parameters_are_rejected(option, value):
    with pytest.raises(ConfigurationError, match=f"{option} = {value}"):
        DecisionTree(**{option: value})


def test_a_run_in_process_rejects_invalid_arguments():
    with pytest.raises(ConfigurationError, match="sources = 0"):
        InProcess(DecisionTree(), "kg", 2, sources=0)
    with pytest.raises(ConfigurationError, match="workers = 0"):
        InProcess(DecisionTree(), "kg", 0)
