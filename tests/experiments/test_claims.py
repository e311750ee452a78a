"""Claims of the PKG and DKG papers hold on streams that are small enough for a test."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from evenkey.core.metrics import max_over_mean, stddev_percent
from evenkey.core.streams import generated
from evenkey.simulation import SimulationReport, simulate

MESSAGES = 100_000
ZIPF = "zipf(z=1,keys=10000)"  # its most frequent key has 10.2 %
PKG = "pkg(variant=paper)"
FEW = 10  # imbalance in messages up to which loads count as balanced


@cache
def simulated(dataset: str, grouping: str, workers: int, **options: object) -> SimulationReport:
    stream = generated(dataset, messages=MESSAGES)
    return simulate(stream, grouping, workers=workers, **options)  # type: ignore[arg-type]


@cache
def top_share(dataset: str) -> float:
    """Return the actual share of the most frequent key."""
    ids = generated(dataset, messages=MESSAGES).ids(0, MESSAGES)
    return float(np.bincount(ids).max()) / MESSAGES


def imbalance(report: SimulationReport) -> float:
    return report.average_imbalance


def last(report: SimulationReport) -> float:
    return float(report.loads.max() - report.loads.mean())


@pytest.mark.parametrize("method", ["off-greedy", "on-greedy", "potc", "kg"])
@pytest.mark.parametrize("workers", [5, 10, 15])
def test_pkg_is_better_than_methods_that_keep_a_key_on_one_worker(method, workers):
    assert workers < 2 / top_share(ZIPF)
    split = simulated(ZIPF, PKG, workers, estimation="global")
    whole = simulated(ZIPF, method, workers, estimation="global")
    assert imbalance(split) <= max(imbalance(whole), FEW)


@pytest.mark.parametrize("method", ["off-greedy", "on-greedy", "potc", "kg"])
def test_no_method_without_key_splitting_balances_a_key_larger_than_a_worker(method):
    workers = 15
    excess = (top_share(ZIPF) - 1 / workers) * MESSAGES
    assert excess > 100 * last(simulated(ZIPF, PKG, workers, estimation="global"))
    assert last(simulated(ZIPF, method, workers, estimation="global")) >= excess


@pytest.mark.parametrize("workers", [5, 10, 50])
@pytest.mark.parametrize("sources", [5, 10])
def test_local_estimation_is_within_an_order_of_magnitude_of_global(workers, sources):
    local = simulated(ZIPF, PKG, workers, sources=sources)
    oracle = simulated(ZIPF, PKG, workers, estimation="global")
    assert imbalance(local) < 10 * max(imbalance(oracle), FEW)


@pytest.mark.parametrize("workers", [5, 10, 50])
def test_probing_brings_nothing(workers):
    local = simulated(ZIPF, PKG, workers)
    probing = simulated(ZIPF, PKG, workers, estimation="probing(10)")
    floor = max(imbalance(local), FEW)
    assert floor / 2 < max(imbalance(probing), FEW) < 2 * floor


@pytest.mark.slow(4)
def test_key_grouping_is_best_on_the_clickstream():
    """DKG, figure 9 c: records are balanced under all methods; only KG keeps keys whole."""
    stream = generated("wikipedia-clickstream-like", messages=100_000)
    reports = {
        method: simulate(stream, method, workers=10, hash="murmur3", observe_by="weights")
        for method in ("kg", "pkg", "dkg")
    }
    held = {method: max_over_mean(report.messages_held) for method, report in reports.items()}
    assert max(held.values()) < 1.05
    assert reports["kg"].pairs == reports["kg"].keys
    assert all(reports[method].pairs > 1.01 * reports[method].keys for method in ("pkg", "dkg"))
    spread = {method: stddev_percent(report.loads) for method, report in reports.items()}
    assert spread["kg"] > 1.2 * max(spread["pkg"], spread["dkg"])


@pytest.mark.parametrize("grouping", ["sg", "kg", PKG, "dkg"])
@pytest.mark.parametrize("feed", ["shuffle", "key"])
def test_imbalance_never_exceeds_the_sum_of_the_local_ones(grouping, feed):
    series = simulated(ZIPF, grouping, 10, feed=feed).series
    total, parts = (series[name].to_numpy() for name in ("imbalance", "local_imbalance"))
    assert (total <= parts + 1e-9).all()


@pytest.mark.parametrize("workers", [1, 7, 100])
def test_shuffle_grouping_from_one_source_is_balanced_to_a_message(workers):
    series = simulated(ZIPF, "sg", workers, sources=1).series
    assert max(series["imbalance"].to_pylist()) <= 1


@pytest.mark.parametrize("grouping", ["kg", "pkg", PKG])
@pytest.mark.parametrize("workers", [25, 50, 100])
def test_beyond_two_over_p1_imbalance_grows_with_the_stream(grouping, workers):
    excess = top_share(ZIPF) / 2 - 1 / workers
    assert excess > 0
    report = simulated(ZIPF, grouping, workers)
    assert last(report) >= excess * MESSAGES
    course = report.series["imbalance"].to_numpy() / report.series["messages"].to_numpy()
    sampling = 5 * np.sqrt(top_share(ZIPF) / report.series["messages"].to_numpy())
    assert (course >= excess - sampling).all()


def test_balance_is_lost_if_workers_exceed_two_over_p1():
    balanced = {
        workers: imbalance(simulated(ZIPF, "pkg", workers)) < 1e-3 * MESSAGES
        for workers in (5, 10, 15, 25, 50)
    }
    assert 15 < 2 / top_share(ZIPF) < 25
    assert balanced == {5: True, 10: True, 15: True, 25: False, 50: False}


def test_two_regimes_of_theorem_5_1():
    """5n equal keys: I(m) grows as m/n ln n / ln ln n with one choice, as m/n with more."""
    excess = {
        choices: [
            last(simulated(f"uniform(keys={5 * n})", f"pkg(choices={choices},variant=paper)", n))
            * n
            / MESSAGES
            for n in (10, 100, 300)
        ]
        for choices in (1, 2, 4)
    }
    assert excess[1] == sorted(excess[1])
    assert excess[1][-1] > 1.2 * excess[1][0]
    for choices in (2, 4):
        assert max(excess[choices]) < 0.6
        assert all(few < one / 2 for few, one in zip(excess[choices], excess[1], strict=True))


@pytest.mark.parametrize("workers", [5, 50])
def test_skewed_sources_are_as_good_as_uniform_ones(workers):
    graph = "slashdot0811-like"
    uniform = simulated(graph, PKG, workers, sources=10)
    skewed = simulated(graph, PKG, workers, sources=10, feed="key")
    assert imbalance(skewed) < 2 * max(imbalance(uniform), FEW)
    assert imbalance(skewed) < 1e-3 * MESSAGES


def test_more_choices_restore_balance_if_two_do_not():
    stream = "zipf(z=1.2,keys=100000)"
    two, more = (
        simulated(stream, f"pkg(choices={choices},variant=paper)", 40) for choices in (2, 12)
    )
    assert imbalance(two) > 1e-2 * MESSAGES
    assert imbalance(more) < 1e-3 * MESSAGES
    assert more.pairs / more.keys < 3  # far from the 40 of shuffle grouping
