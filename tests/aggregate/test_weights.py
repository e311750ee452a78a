"""Messages with weights: results are exact with every option, loads have the chosen unit."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow.dataset as ds
import pytest

from evenkey import run as run_typed
from evenkey.applications.config import ApplicationConfig
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings
from evenkey.core.streams import generated
from evenkey.groupings.message_weights import MOST_WEIGHT, By
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.simulation import simulate
from tests.tiers import most_in_soak

pytestmark = pytest.mark.usefixtures("spark")

WORKERS = 4
SMALL = {"workers": WORKERS, "aggregators": 2, "aggregator": "sum(column=count)"}
UNITS: tuple[By, ...] = ("messages", "weights")
WAYS = list(product(UNITS, UNITS))


def run(**options):
    return run_typed(PipelineConfig(**{**SMALL, **options}))


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """Write clickstream lines, a few of which have most clicks; return the clicks of each page."""
    random = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("input") / "clicks.tsv"
    sums, lines = Counter[str](), []
    for number in range(2000):
        page = "Main" if number % 50 == 0 else f"Page {random.integers(300)}"
        count = int(random.integers(2000, 9000)) if page == "Main" else int(random.integers(1, 30))
        sums[page] += count
        lines.append(f"from {number}\t{page}\tlink\t{count}\n")
    path.write_text("".join([*lines, "a\tb\tlink\tmany\n", "a\tMain\tlink\t0\n"]))
    return path, sums


def totals(table, key="key"):
    sums: Counter[str] = Counter()
    for row in table.to_pylist():
        sums[row[key]] += row["sum"]
    return sums


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    ("grouping", "route_by", "observe_by"),
    most_in_soak(
        [
            ("kg", "messages", "weights"),
            ("dkg", "weights", "messages"),
            ("dchoices", "weights", "weights"),
            ("planned", "weights", "messages"),
        ],
        4,
        slow=[("planned", "weights", "messages")],
    ),
)
def test_results_equal_a_plain_sum_for_any_unit_of_load(clicks, grouping, route_by, observe_by):
    path, sums = clicks
    report = run(
        input=path,
        split="wikipedia-clickstream",
        grouping=grouping,
        sources=2,
        epochs=2,
        route_by=route_by,
        observe_by=observe_by,
    )
    figures = report.to_json()
    assert totals(report.table) == sums
    assert (figures["messages"], figures["rejected"]) == (2000, 2)
    assert (figures["route_by"], figures["observe_by"]) == (route_by, observe_by)
    assert sum(figures["loads"]) == (2000 if observe_by == "messages" else sums.total())
    assert sum(epoch.messages for epoch in report.epochs) == 2000
    if grouping == "kg":
        assert figures["loads"] == by_key(sums)


def by_key(sums):
    workers = hash_strings(list(sums)).view(np.int64) % WORKERS
    return np.bincount(workers, list(sums.values()), minlength=WORKERS).astype(int).tolist()


@pytest.mark.soak
@pytest.mark.parametrize(("grouping", "ways"), [("pkg", WAYS), ("dkg", WAYS[-1:])])
def test_spark_routes_weights_as_the_simulator_does(grouping, ways):
    """The stream has one source and one epoch; all four combinations of options are tried."""
    stream = generated("wikipedia-pageviews-by-lang-like", messages=3000)
    batch = stream.batch(0, 3000)
    sums: Counter[str] = Counter()
    for key, count in zip(stream.texts(batch.ids).to_pylist(), batch.counts.tolist(), strict=True):
        sums[key] += count
    seen = set()
    for route_by, observe_by in ways:
        report = run(
            dataset=stream.name,
            messages=3000,
            grouping=grouping,
            sources=1,
            epochs=1,
            route_by=route_by,
            observe_by=observe_by,
        )
        twin = simulate(
            stream, grouping, workers=WORKERS, sources=1, route_by=route_by, observe_by=observe_by
        )
        assert totals(report.table) == sums
        assert list(report.metrics.loads) == twin.loads.tolist()
        assert report.metrics.pairs == twin.pairs
        seen.add(report.metrics.loads)
    assert len(seen) == len(ways)


@pytest.mark.soak
def test_plans_use_weights_if_messages_are_routed_by_weight(clicks):
    path, _ = clicks
    worst = {}
    for route_by in UNITS:
        report = run(
            input=path,
            split="wikipedia-clickstream",
            grouping="planned(planning=current)",
            sources=2,
            epochs=2,
            route_by=route_by,
            observe_by="weights",
        )
        worst[route_by] = max(epoch.max_over_mean for epoch in report.epochs)
    # The rows of the page with most clicks are dealt round-robin, whatever their weights.
    assert worst["weights"] < 1.3 < worst["messages"]


@pytest.mark.soak
def test_extreme_weights_change_only_the_balance(tmp_path):
    path = tmp_path / "a.csv"
    huge = 10**17
    path.write_text("k,n\n" + f"a,{huge}\nb,{huge}\nc,1\n" * 30)
    report = run(
        input=path,
        key="k",
        count="n",
        grouping="dkg",
        sources=1,
        epochs=2,
        route_by="weights",
        observe_by="weights",
        output=tmp_path / "out",
    )
    table = ds.dataset(report.results, partitioning="hive").to_table()
    assert totals(table, "k") == {"a": 30 * huge, "b": 30 * huge, "c": 30}
    assert sum(report.metrics.loads) == 60 * MOST_WEIGHT + 30
    assert min(report.metrics.loads) >= 0


@pytest.mark.slow(4)
def test_learners_have_no_weights():
    for option in ("route_by", "observe_by"):
        with pytest.raises(ConfigurationError, match=f"{option} = 'weights': application"):
            ApplicationConfig(application="naive-bayes", **{option: "weights"})
