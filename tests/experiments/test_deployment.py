"""The PKG paper's deployment: its streams, topologies and counters, without any times."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from evenkey.core.streams import generated
from evenkey.papers.experiments import FULL, QUICK
from evenkey.papers.experiments.experiment_data import published
from evenkey.papers.experiments.pkg.deployment import PERIODS, TW, WP, by_period, replayed
from evenkey.papers.experiments.pkg.figure_10_a import with_costs
from evenkey.papers.experiments.pkg.figure_10_b import saturated
from evenkey.papers.experiments.pkg.paper_streams import STREAMS
from evenkey.papers.experiments.scale import MEDIUM
from evenkey.simulation import simulate

WORKERS = {"kg": WP.key_workers, "pkg": WP.split_workers, "sg": WP.split_workers}


@cache
def counters(grouping: str, workers: int, epochs: int = 1) -> list[int]:
    """Return the distinct (key, worker) pairs in each of some equal parts of WP at scale quick."""
    stream = generated(WP.quick.name, messages=WP.quick.messages)
    size = WP.quick.messages // epochs
    report = simulate(stream, grouping, workers=workers, sources=8, epoch_messages=size)
    return [epoch.pairs for epoch in report.epochs]


@pytest.mark.parametrize("scale", [QUICK, MEDIUM], ids=["quick", "medium"])
@pytest.mark.parametrize("deployment", [WP, TW], ids=["WP", "TW"])
def test_short_streams_have_the_data_sets_messages_a_key_and_most_frequent_key(deployment, scale):
    paper = published(STREAMS[deployment.symbol])
    part = deployment.part(scale)
    stream = generated(part.name, messages=part.messages)
    counts = np.bincount(stream.ids(0, part.messages))
    assert paper.keys is not None
    messages_a_key = part.messages / np.count_nonzero(counts)
    assert messages_a_key == pytest.approx(paper.messages / paper.keys, rel=0.05)
    top_percent = 100 * counts.max() / part.messages
    assert top_percent == pytest.approx(paper.top_percent, abs=0.25)


def test_counters_without_aggregation_are_the_papers_at_a_two_hundredth():
    held = {name: sum(counters(name, workers)) for name, workers in WORKERS.items()}
    assert held == {"kg": 14_129, "pkg": 19_542, "sg": 33_707}
    for name, millions in (("kg", 2.9), ("pkg", 3.6), ("sg", 7.2)):
        assert 200 * held[name] == pytest.approx(1e6 * millions, rel=0.1)


@pytest.mark.parametrize("period", PERIODS)
def test_pkg_holds_fewer_counters_than_sg_and_more_than_kg(period):
    epochs = round(WP.quick.seconds / period)
    kg, pkg, sg = (np.mean(counters(name, workers, epochs)) for name, workers in WORKERS.items())
    assert kg < pkg < sg
    if period == PERIODS[-1]:
        assert pkg <= 0.7 * sg


def test_longer_periods_need_more_counters_and_fewer_epochs():
    declared = {scale: by_period(WP, scale) for scale in (QUICK, MEDIUM)}
    epochs, more_epochs = (
        [each.epochs for each in declared[scale] if each.grouping == "pkg"] for scale in declared
    )
    assert (epochs, more_epochs) == ([6, 2, 1], [18, 6, 3])
    held = [np.mean(counters("pkg", 8, number)) for number in epochs]
    assert all(fewer < more for fewer, more in pairwise(held))


@pytest.mark.parametrize("scale", [QUICK, MEDIUM, FULL], ids=["quick", "medium", "full"])
def test_topologies_are_the_papers(scale):
    for scenario in [*with_costs(scale), *saturated(scale)]:
        assert scenario.workers == (10 if scenario.grouping == "kg" else 8)
        assert (scenario.sources, scenario.aggregators) == (8, 2)
    for scenario in by_period(TW, scale):
        assert scenario.workers == (16 if scenario.grouping == "kg" else 8)
        assert (scenario.sources, scenario.aggregators, scenario.cost_ms) == (8, 8, 0.0)
    seconds = {period * (replayed(WP, scale).rate or 0) for period in PERIODS}
    sizes = {(each.dataset.messages or 0) / each.epochs for each in saturated(scale)}
    assert sorted(sizes) == pytest.approx(sorted(seconds), rel=0.02)


def test_arrivals_saturate_balanced_workers_and_kg_as_in_the_paper():
    """At the paper's rate KG's worker with 17.8 % of WP saturates at 0.4 ms; 8 lose 37 %."""
    rate = with_costs(FULL)[0].arrival_rate
    assert rate is not None
    assert 1 / (rate * (0.1 + 0.078)) == pytest.approx(0.4e-3, rel=0.05)  # table 2: I(m) = 7.8 %
    assert 1 - 8 / (rate * 1e-3) == pytest.approx(0.37, abs=0.05)
    assert 1 - 1 / (rate * (0.1 + 0.078) * 1e-3) == pytest.approx(0.60, abs=0.05)
