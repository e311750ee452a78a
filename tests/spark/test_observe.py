"""observe: loads are exact, keys and pairs are estimated."""

from __future__ import annotations

import time

import numpy as np
import pytest

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.metrics import PairCounts
from evenkey.core.streams import generated
from evenkey.spark import LoadObserver
from tests.spark import oracle

WORKERS = 6


@pytest.fixture(scope="module")
def batch(spark):
    df = oracle.skewed(spark, 6000, 3)
    return operators.route(df, "key", "pkg(choices=3)", WORKERS)


def counts_of(rows, key="hash"):
    counts = PairCounts(WORKERS)
    keys = rows[key].to_numpy().view(np.uint64)
    counts.add(rows["worker"].to_numpy(), keys, np.ones(len(keys), dtype=np.int64))
    return counts


def assert_close(seen, rows):
    """Check that loads are exact, and estimates within 15 %, three standard deviations."""
    counts = counts_of(rows)
    np.testing.assert_array_equal(seen.loads, counts.loads)
    assert seen.keys == pytest.approx(counts.keys, rel=0.15)
    assert seen.pairs == pytest.approx(counts.pairs, rel=0.15)
    assert seen.pairs > 1.3 * seen.keys


def test_batch(batch):
    observer = LoadObserver(WORKERS)
    rows = operators.observe(oracle.with_clues(batch), observer, key="key").toArrow()
    assert rows.num_rows == 6000
    (seen,) = observer.epochs
    assert seen.epoch == 0
    assert_close(seen, rows)
    np.testing.assert_array_equal(observer.loads, seen.loads)


def test_without_key_there_are_loads_alone(batch):
    observer = LoadObserver(WORKERS)
    rows = operators.observe(batch, observer).toArrow()
    (seen,) = observer.epochs
    assert (seen.keys, seen.pairs) == (None, None)
    assert seen.loads.tolist() == np.bincount(rows["worker"], minlength=WORKERS).tolist()


def test_observed_after_placement(batch):
    observer = LoadObserver(WORKERS)
    placed = operators.place(batch, WORKERS)
    rows = operators.observe(placed, observer, key=["key"]).toArrow()
    assert observer.loads.tolist() == np.bincount(rows["worker"], minlength=WORKERS).tolist()


@pytest.mark.slow(4)
def test_stream_epoch_by_epoch(session, tmp_path):
    stream = generated("zipf(z=1.2,keys=300)", messages=4500)
    df = oracle.streaming(session, stream, tmp_path, epochs=3)
    routed = operators.route(df, "key", "pkg", WORKERS)
    observer = LoadObserver(WORKERS)
    watched = operators.observe(oracle.with_clues(routed), observer, key="key")
    assert observer.epochs == []
    epochs = oracle.run(watched, tmp_path)
    for _ in range(200):
        if len(observer.epochs) == 3:
            break
        time.sleep(0.1)  # another thread delivers the figures of an epoch soon after its end
    assert [seen.epoch for seen in observer.epochs] == [0, 1, 2]
    for seen, rows in zip(observer.epochs, epochs.values(), strict=True):
        assert seen.loads.sum() == 1500
        assert_close(seen, rows)
    assert observer.loads.sum() == 4500


def test_an_epoch_that_ran_again_counts_once():
    observer = LoadObserver(2)
    observer.receive(4, {"worker_0": 1, "worker_1": 2})
    observer.receive(3, {"worker_0": 5, "worker_1": 5})
    observer.receive(4, {"worker_0": 3, "worker_1": 0})
    assert [seen.epoch for seen in observer.epochs] == [3, 4]
    assert observer.loads.tolist() == [8, 5]


def test_an_observer_watches_once(batch):
    observer = LoadObserver(WORKERS)
    operators.observe(batch, observer)
    with pytest.raises(RunError, match="observes a DataFrame already: make one per DataFrame"):
        operators.observe(batch, observer)


@pytest.mark.parametrize("options", [{"column": "wrker"}, {"key": "wrker"}, {"key": ["wrker"]}])
def test_a_missing_column_is_named(batch, options):
    with pytest.raises(ConfigurationError, match="no column 'wrker'"):
        operators.observe(batch, LoadObserver(WORKERS), **options)


def test_there_must_be_a_worker():
    with pytest.raises(ConfigurationError, match="workers = 0"):
        LoadObserver(0)
