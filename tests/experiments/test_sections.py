"""The measurements of experiments by section, compared with plain counting."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkey.core.hashing import hash_strings
from evenkey.core.streams import generated
from evenkey.papers.experiments.experiment_data import Dataset
from evenkey.papers.experiments.own_keys import OwnKeys
from evenkey.papers.experiments.pkg.draws import hashes, occurrences
from evenkey.papers.experiments.pkg.paper_streams import dataset, zipf
from evenkey.papers.experiments.pkg.sections.application_state import (
    APPLICATIONS,
    ApplicationLoads,
    ApplicationState,
    records_of,
)
from evenkey.papers.experiments.pkg.sections.balls_in_bins import (
    ALTERNATING,
    RANDOM,
    Course,
    HotWorkers,
    Placement,
    TwoKeys,
    candidates,
)
from evenkey.papers.experiments.pkg.sections.hitter_errors import HitterErrors
from evenkey.papers.experiments.pkg.sections.loaded_workers import (
    FewestWorkers,
    MostLoaded,
)
from evenkey.papers.experiments.pkg.sections.probed_estimates import ProbedEstimates
from evenkey.papers.experiments.pkg.sections.routing_entries import RoutingEntries
from evenkey.papers.experiments.pkg.sections.section_4_1 import StepsOfTree
from evenkey.papers.experiments.pkg.sections.sets_of_workers import (
    LoadedFifth,
    SetOfWorkers,
    SmallSets,
)
from evenkey.papers.experiments.pkg.sections.special_placements import (
    CandidatesOfAll,
    DistinctKeys,
    FirstKey,
    RareKeys,
    WithinBound,
)
from evenkey.papers.experiments.pkg.techniques import PKG
from evenkey.papers.experiments.scale import QUICK
from evenkey.papers.experiments.simulation import Simulation

if TYPE_CHECKING:
    from evenkey.papers.experiments import Scenario

ZIPF = Dataset("zipf(z=1,keys=50)", 2000)
WORKERS = 7


def figures_of(scenario: Scenario) -> dict[str, Any]:
    return scenario.measure().figures


def greedy(ids, two):
    """Place each message on the less loaded candidate of its key; return all loads over time."""
    loads, course = [0] * WORKERS, []
    for key in ids:
        first, second = two[key]
        loads[second if loads[second] < loads[first] else first] += 1
        course.append(list(loads))
    return course


def ids_of(seed):
    return generated(ZIPF.name, messages=ZIPF.messages, seed=seed).ids(0, 2000).tolist()


def test_placement_is_that_of_a_plain_loop():
    courses = [greedy(ids_of(seed), candidates(hashes(50, seed), WORKERS)) for seed in (0, 1)]
    ends = [max(course[-1]) - 2000 / WORKERS for course in courses]
    figures = figures_of(Placement(ZIPF, 2, PKG, WORKERS))
    assert figures["messages"] == 4000
    assert figures["imbalance"] == pytest.approx(np.mean(ends))
    assert (figures["imbalance_fewest"], figures["imbalance_most"]) == (min(ends), max(ends))
    most = [
        max(max(loads) - t / WORKERS for t, loads in enumerate(course, 1)) for course in courses
    ]
    figures = figures_of(Course(ZIPF, 2, PKG, WORKERS))
    assert figures["imbalance_most"] == pytest.approx(max(most))


@pytest.mark.parametrize("rule", [ALTERNATING, RANDOM])
def test_other_rules_use_the_same_candidates(rule):
    placement = Placement(ZIPF, 1, rule, WORKERS)
    ids, keys = np.array(ids_of(0)), hashes(50, 0)
    placed = placement.placed(ids, keys, seed=0)
    two = candidates(keys, WORKERS)
    assert (placed[:, None] == two[ids]).any(axis=1).all()
    top = Counter(ids.tolist()).most_common(1)[0][0]
    share = float((placed[ids == top] == two[top, 0]).mean())
    assert share == pytest.approx(0.5, abs=0.1)


def test_two_keys_have_four_workers_and_equal_loads():
    figures = figures_of(TwoKeys(Dataset("uniform(keys=2)", 1000), 5, PKG, 4))
    assert figures["difference_most"] == 1
    half = [
        np.bincount(generated("uniform(keys=2)", messages=1000, seed=seed).ids(0, 1000)).max()
        for seed in range(5)
    ]
    assert figures["imbalance"] == pytest.approx(np.mean([-(-each // 2) - 250 for each in half]))


def test_hot_workers_are_those_with_many_keys():
    counts = Counter((hashes(300, 0).astype(np.int64) % 100).tolist())
    hot = sum(count >= 3 * 2.718281828459045 for count in counts.values())
    scenario = HotWorkers(Dataset("uniform(keys=300)", 300), 1, 100, 1.0)
    assert figures_of(scenario)["hot"] == hot / 100


def test_occurrences_are_counted_per_group():
    groups = np.array([3, 1, 3, 3, 1, 2])
    seen: Counter[int] = Counter()
    plain = []
    for group in groups.tolist():
        plain.append(seen[group])
        seen[group] += 1
    assert occurrences(groups).tolist() == plain


def test_static_choices_keep_an_entry_per_key_of_each_source_and_pkg_keeps_none():
    keys = [len({*ids_of(0)[source::3]}) for source in range(3)]
    static = figures_of(RoutingEntries(ZIPF, 1, "potc", WORKERS, 3))
    assert static["entries"] == pytest.approx(np.mean(keys))
    assert static["entries_per_key"] == 1
    assert 1 < static["workers_of_a_key"] <= 2
    assert figures_of(RoutingEntries(ZIPF, 1, PKG, WORKERS, 3))["entries"] == 0


def test_summaries_with_a_counter_per_key_have_no_errors():
    exact = figures_of(HitterErrors(ZIPF, 1, "sg", WORKERS, 10, 50))
    assert (exact["error"], exact["bound"], exact["terms"]) == (0, 0, WORKERS)
    rough = figures_of(HitterErrors(ZIPF, 1, "sg", WORKERS, 10, 12))
    assert 0 < rough["error"] <= rough["bound"]


def test_the_steps_of_the_decision_tree_add_up():
    scenario = StepsOfTree(Dataset(APPLICATIONS["decision-tree"], 200), "sg", 5, repeats=1)
    figures = figures_of(scenario)
    steps = ("messages", "route", "partial", "merge", "learn")
    assert sum(figures[f"{step}_percent"] for step in steps) == pytest.approx(100)
    assert min(figures[f"{step}_ms"] for step in steps) > 0


@pytest.mark.parametrize("application", ["word-count", "naive-bayes"])
def test_key_grouping_keeps_each_counter_once(application):
    scenario = ApplicationState(Dataset("documents(words=1000)", 40), 1, application, "kg", 5)
    words = [
        (word, row["label"])
        for row in records_of(scenario.dataset, 0).to_pylist()
        for word in row["text"].split()
    ]
    wanted = {*words} if application == "naive-bayes" else {word for word, _ in words}
    labels = {label for _, label in words} if application == "naive-bayes" else set()
    assert figures_of(scenario)["state"] == len(wanted) + len(labels)


def test_estimates_are_the_loads_after_a_probe():
    figures = figures_of(ProbedEstimates(ZIPF, WORKERS, 3, 101))
    assert figures["messages"] == 2000
    assert figures["after_probes"] <= 1 < figures["before_probes"]


def test_distinct_keys_are_placed_as_balls_of_different_colours():
    scenario = DistinctKeys(Dataset("uniform(keys=400)", 400), 1, PKG, WORKERS)
    course = greedy(range(400), candidates(hashes(400, 0), WORKERS))
    assert figures_of(scenario)["imbalance"] == pytest.approx(max(course[-1]) - 400 / WORKERS)


def test_one_key_is_as_frequent_as_the_theorem_allows_and_others_are_rarer():
    ids, keys = RareKeys(Dataset("uniform(keys=35)", 70_000), 1, PKG, WORKERS).drawn(0)
    counts = np.bincount(ids)
    assert len(keys) == len(counts) == 1 + 100 * (5 * WORKERS - 1)
    assert counts[0] == pytest.approx(70_000 / (5 * WORKERS), rel=0.1)
    assert counts[1:].mean() == pytest.approx(counts[0] / 100, rel=0.1)


def test_draws_within_a_bound_are_counted():
    worst = figures_of(Placement(ZIPF, 1, PKG, WORKERS))["imbalance"] / (2000 / WORKERS)
    for bound, within in ((worst + 0.01, 1), (worst - 0.01, 0)):
        assert figures_of(WithinBound(ZIPF, 1, PKG, WORKERS, bound))["within"] == within


def test_the_first_key_has_two_workers_with_its_messages():
    loads = np.array(greedy(ids_of(0), two := candidates(hashes(50, 0), WORKERS))[-1])
    (top,) = (key for key, _ in Counter(ids_of(0)).most_common(1))
    shares = loads[[*{*two[top].tolist()}]] / 2000
    figures = figures_of(FirstKey(ZIPF, 1, PKG, WORKERS))
    assert figures["together"] == pytest.approx(shares.sum())
    assert figures["larger"] == pytest.approx(shares.max())


def test_candidates_of_all_keys_are_counted_once():
    two = candidates(hashes(4, 0), WORKERS)
    used = len({*two.ravel().tolist()})
    figures = figures_of(CandidatesOfAll(Dataset("uniform(keys=4)", 4), 1, WORKERS))
    assert figures["used"] == used / WORKERS
    assert figures["some_unused"] == (used < WORKERS)
    assert figures["all_differ"] == (used == 8)


def test_keys_inside_sets_of_workers_are_those_with_all_candidates_there():
    stream = Dataset("uniform(keys=50)", 50)
    two = candidates(hashes(50, 0), 10).tolist()
    inside = sum(max(each) < 4 for each in two) / 50
    figures = figures_of(SetOfWorkers(stream, 1, 10, 2, 4, inside, 1))
    assert (figures["inside"], figures["reached"]) == (inside, 1)
    assert figures_of(SetOfWorkers(stream, 1, 10, 2, 4, inside + 0.01, 1))["reached"] == 0
    of_sets = {
        pair: sum({*each} <= {*pair} for each in two)
        for pair in itertools.product(range(10), range(10))
    }
    figures = figures_of(SmallSets(stream, 1, 10, 1))
    assert figures["largest"] == pytest.approx(
        max(count / 50 / (len({*pair}) / 10) for pair, count in of_sets.items())
    )
    assert figures["expansion"] == min(
        len({*pair}) / count for pair, count in of_sets.items() if count
    )


def test_the_loaded_fifth_has_the_most_first_candidates():
    stream = Dataset("uniform(keys=50)", 2000)
    loads = Placement(stream, 1, PKG, 10).loads(0)
    first = Counter(candidates(hashes(50, 0), 10)[:, 0].tolist())
    fifth = sorted(range(10), key=lambda worker: -first[worker])[:2]
    figures = figures_of(LoadedFifth(stream, 1, PKG, 10))
    assert figures["inside"] == max(loads[fifth]) / 200
    assert figures["apart"] == pytest.approx(
        (max(loads[fifth]) - max(np.delete(loads, fifth))) / 200
    )


def test_the_hottest_key_overloads_its_workers():
    skewed = Dataset("zipf(z=2,keys=50)", 2000)
    assert figures_of(MostLoaded(skewed, 3, PKG, 50))["of_hottest"] == 1
    assert figures_of(MostLoaded(Dataset("uniform(keys=50)", 2000), 20, PKG, 50))["of_hottest"] < 1


def test_loads_of_applications_are_those_of_their_messages():
    shuffled, grouped = (
        figures_of(
            ApplicationLoads(Dataset("documents(words=1000)", 40), 1, "word-count", each, 5)
        )["max_over_mean"]
        for each in ("sg", "kg")
    )
    assert shuffled == pytest.approx(1, abs=0.02)
    assert grouped > shuffled


def test_no_scheme_keeps_up_with_fewer_workers_than_balanced_loads_need():
    needed: dict[str, Any] = {
        grouping: FewestWorkers(
            Dataset("zipf(z=1,keys=100)", 10_000), grouping, 9000, 2500, draws=1
        )
        .measure()
        .figures["needed"]
        for grouping in ("sg", PKG, "kg")
    }
    assert needed["sg"] == 4  # 3.6 workers have the work
    assert 4 <= needed[PKG] <= needed["kg"]


@pytest.mark.parametrize(
    "stream", [dataset("TW", QUICK), dataset("LJ", QUICK), zipf(1, 100, QUICK)]
)
def test_streams_of_the_pkg_paper_share_no_key(stream):
    prefix = {"twitter-like": "TW", "livejournal-like": "LJ"}.get(stream.name, "ZF")
    with replace(stream, messages=50).opened() as opened:
        texts = opened.texts(next(opened.batches()).ids).to_pylist()
    assert {text.partition(" ")[0] for text in texts} == {prefix}


def test_a_prefix_changes_only_the_names_of_keys():
    stream = generated("twitter-ticker-like", messages=300)
    own = OwnKeys(stream, "TW")
    plain, renamed = (list(each.batches(100)) for each in (stream, own))
    assert (own.name, own.length, len(renamed)) == (stream.name, 300, 3)
    for before, after in zip(plain, renamed, strict=True):
        names = [f"TW {each}" for each in stream.texts(before.ids).to_pylist()]
        assert own.texts(after.ids).to_pylist() == names
        assert after.keys.tolist() == hash_strings(names).tolist()
        for each in ("ids", "counts", "times"):
            assert getattr(after, each).tolist() == getattr(before, each).tolist()


def test_a_simulation_samples_a_stream_with_a_prefix_as_one_without():
    plain, renamed = (
        Simulation(replace(ZIPF, prefix=prefix), "kg", 5, samples=7).measure().series
        for prefix in ("", "ZF")
    )
    assert plain is not None
    assert renamed is not None
    assert plain["messages"].equals(renamed["messages"])
    assert not plain["imbalance"].equals(renamed["imbalance"])
