"""The declared experiments are complete and valid, and their tables and plots can be made."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.experiments import FULL, QUICK, Outcome, available, find, scale_named
from evenkey.papers.experiments.dkg.section_4 import WorkerLoads
from evenkey.papers.experiments.dkg.section_4_2 import PoolsBySpace, WorkersOfKeys
from evenkey.papers.experiments.dkg.section_4_4 import EachKeyHot
from evenkey.papers.experiments.dkg.section_4_6 import HotKeyPool
from evenkey.papers.experiments.dkg.section_5_3 import LoadThroughTime
from evenkey.papers.experiments.joins.join_run import JoinRun
from evenkey.papers.experiments.joins.rehearsal import (
    MovedPartitions,
    PricedMoves,
    RehearsedJoin,
    RehearsedMoves,
    SkewReached,
)
from evenkey.papers.experiments.joins.section_3_1 import ChecksOfDistributor, StepsOfPipeline
from evenkey.papers.experiments.joins.section_3_3 import PlannedCases, PlannedExample
from evenkey.papers.experiments.joins.section_4_2 import ComparedRows
from evenkey.papers.experiments.joins.section_5 import SentData
from evenkey.papers.experiments.key_share import KeyShare, TopKeys
from evenkey.papers.experiments.pipeline import PipelineRun
from evenkey.papers.experiments.pkg.draws import FEWEST, Drawn
from evenkey.papers.experiments.pkg.sections.application_state import (
    APPLICATIONS,
    ApplicationState,
    records_of,
)
from evenkey.papers.experiments.pkg.sections.loaded_workers import FewestWorkers
from evenkey.papers.experiments.pkg.sections.probed_estimates import ProbedEstimates
from evenkey.papers.experiments.pkg.sections.section_2_1 import QueryLatency
from evenkey.papers.experiments.pkg.sections.section_4_1 import StepsOfTree
from evenkey.papers.experiments.pkg.sections.section_6_1 import HashDraws, OtherStreams
from evenkey.papers.experiments.simulation import Simulation
from evenkey.papers.experiments.timed import MACHINE, MOST, Timed, medians

if TYPE_CHECKING:
    from evenkey.papers.experiments import Experiment, Scale, Scenario

PAPERS = {
    *(f"pkg-table-{number}" for number in (1, 2)),
    *(f"pkg-figure-{number}" for number in range(3, 10)),
    *(
        f"pkg-section-{number}"
        for number in ("2-1", "3", "4", "4-1", "4-2", "5", "5-1", "5-2", "6", "6-1", "6-2")
    ),
    *(f"dkg-table-{number}" for number in (1, 2, 3)),
    *(f"dkg-figure-{number}" for number in range(9, 14)),
    *(f"dkg-section-{number}" for number in ("4", "4-2", "4-3", "4-4", "4-6", "5-3", "5-5")),
    "dkg-table-3-spark",
    *(f"dkg-figure-{number}-spark" for number in range(9, 14)),
    *(f"pkg-figure-10-{panel}" for panel in "abc"),
    "pkg-table-3",
    *(f"joins-figure-{number}" for number in range(4, 9)),
    *(f"joins-section-{number}" for number in ("3-1", "3-2", "3-3", "4-2", "4-3", "4-6", "5")),
}

PUBLICATIONS = (
    *(SkewReached, RehearsedJoin, ComparedRows, SentData),
    *(StepsOfPipeline, ChecksOfDistributor),
)
"""Scenarios that draw publications themselves."""
STEPS_OF_PIPELINE = ("unpack", "route", "join", "match")
PLANS = ("greedy", "fewest", "best")


def all_runs(made: dict[str, float]) -> dict[str, Any]:
    """Return the figures of two streams that give the same."""
    return {**medians([made, made], fresh=True)}


@functools.singledispatch
def figures_of(scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Make up what a scenario measures; a kind without a function of its own is a simulation."""
    assert isinstance(scenario, Simulation)
    names = (
        "imbalance_fraction",
        "average_imbalance_fraction",
        "stddev_percent",
        "jaccard",
        "disagreement",
    )
    figures: dict[str, Any] = {name: 10 ** rng.uniform(-6, 0) for name in names}
    figures |= {"keys": 100, "pairs": 120, "dist_cost": 1.2, "max_over_mean": rng.uniform(1, 9)}
    figures["partials"] = int(rng.integers(100, 999))
    figures["series"] = [
        {"messages": m, "seconds": m / 10, "imbalance": m / 5, "local_imbalance": m / 4}
        for m in range(1, scenario.samples + 1)
    ]
    return figures


@figures_of.register(KeyShare)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "keys": 100,
        "weight": 3000,
        "top_share_percent": rng.uniform(0, 100),
    }


@figures_of.register(TopKeys)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    series = [
        {"period": period, "key": key, "messages": int(rng.integers(1, 99))}
        for period in range(4)
        for key in ("0", "1", "5", "10", "15")
    ]
    return {"periods": 4, "series": series}


@figures_of.register(Drawn)
def _(scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {
        f"{name}{end}": rng.uniform(1, 9) for name in scenario.names for end in ("", FEWEST, MOST)
    }


@figures_of.register(ProbedEstimates)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"before_probes": rng.uniform(1, 99), "after_probes": rng.uniform(0, 1)}


@figures_of.register(FewestWorkers)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"needed": float(rng.integers(1, 99))}


@figures_of.register(PipelineRun)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    figures: dict[str, Any] = {
        name: rng.uniform(1, 9)
        for name in (
            *("makespan_ms", "messages_per_second", "max_over_mean", "stddev_percent"),
            *("latency_mean_ms", "latency_p50_ms", "dist_cost"),
            *("epoch_pairs_mean", "epoch_pairs_max"),
        )
    }
    figures |= {"pairs": int(rng.integers(100, 999)), MACHINE: "a made-up one"}
    return figures


@figures_of.register(JoinRun)
def _(scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    of_epochs = ("throughput", "modelled_throughput", "mldc")
    times = (
        "work_us",
        "latency_mean_ms",
        "modelled_latency_ms",
        "redistribution_seconds",
        "load_seconds",
    )
    counts = ("redistributions", "moved_partitions", "static_loads", "mldc_first", "mldc_last")
    figures: dict[str, Any] = {
        name: rng.uniform(0.1, 9) for name in (*of_epochs[:2], *times, *counts)
    }
    figures["realised_skew"] = rng.uniform(0.2, 0.7)
    if not scenario.mode.startswith("static"):
        figures["longest_move"] = rng.uniform(1, 9)
    figures["series"] = [
        {"seconds": 10 * epoch, **{name: rng.uniform(0.1, 9) for name in of_epochs}}
        for epoch in range(1, 4)
    ]
    return figures


@figures_of.register(PlannedExample)
def _(scenario: Any, _rng: np.random.Generator) -> dict[str, Any]:
    owners = [1 + int(each) for each in scenario.owners.split()]
    loads = map(float, scenario.loads.split())
    return {
        "moved": 2,
        "series": [
            {"load": load, "before": owner, "after": owner}
            for load, owner in zip(loads, owners, strict=True)
        ],
    }


@figures_of.register(PoolsBySpace)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    names = ("pool_of_old", "pool_of_others", "entries", "grown")
    return all_runs({name: rng.uniform(1, 9) for name in names})


@figures_of.register(WorkersOfKeys)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    names = ("of_hot", "of_others", "others_grown", "dist_cost")
    return all_runs({name: rng.uniform(1, 9) for name in names})


@figures_of.register(SentData)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    what, units = ("rows", "moved", "static_local", "every_epoch"), ("mb", "seconds")
    return {f"{each}_{unit}": rng.uniform(1, 99) for each in what for unit in units}


@figures_of.register(StepsOfPipeline)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    steps = [f"{each}_{of}" for each in STEPS_OF_PIPELINE for of in ("us", "percent")]
    mldc = [f"{each}_mldc" for each in ("nothing", "join", "whole")]
    return {each: rng.uniform(1, 9) for each in ("prepared", *steps, *mldc)}


@figures_of.register(ChecksOfDistributor)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"core_percent": rng.uniform(0.1, 9), "moves": 0.0}


@figures_of.register(StepsOfTree)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    steps = ("messages", "route", "partial", "merge", "learn")
    return {f"{each}_{of}": rng.uniform(1, 9) for each in steps for of in ("ms", "percent")}


@figures_of.register(QueryLatency)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"latency_ms": rng.uniform(1, 99)}


@figures_of.register(ComparedRows)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return all_runs({"of_partition": rng.uniform(1, 9), "compared": rng.uniform(1, 9)})


@figures_of.register(PlannedCases)
@figures_of.register(SkewReached)
@figures_of.register(RehearsedJoin)
def _(scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    values: dict[Any, list[str]] = {
        PlannedCases: [f"{each}_{of}" for each in ("moves", "load") for of in PLANS],
        SkewReached: ["realised", "max_over_mean"],
        RehearsedJoin: [
            *("crossings_percent", "mldc_first", "mldc_later", "redistributions"),
            *("share", "share_smallest", "share_largest", "skew_later", "idle_percent"),
            *("reaction_seconds", "pause_seconds"),
        ],
    }
    values[RehearsedMoves] = [*values[RehearsedJoin], "fall", "mldc_crossings"]
    values[MovedPartitions] = [*values[RehearsedJoin], "moved"]
    values[PricedMoves] = [*values[RehearsedJoin], "over_usual", "paused_percent"]
    made = {each: rng.uniform(1, 9) for each in values[type(scenario)]}
    figures = all_runs(made)
    figures["series"] = [
        {"seconds": 1.0 * each, "throughput": rng.uniform(1, 9), "mldc": rng.uniform(0, 3)}
        for each in range(1, 4)
    ]
    return figures


@figures_of.register(LoadThroughTime)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"max_over_mean": rng.uniform(1, 9), "epoch_mean": rng.uniform(1, 9)}


@figures_of.register(HashDraws)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"unbalanced": 3, **medians([{"imbalance": rng.uniform(1e-6, 1)} for _ in range(2)])}


@figures_of.register(OtherStreams)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    return all_runs({"imbalance": rng.uniform(1e-6, 1)})


@figures_of.register(WorkerLoads)
def _(scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    shares = rng.uniform(1, 9, scenario.workers)
    points = enumerate((100 * shares / shares.sum()).tolist(), 1)
    return {
        "max_over_mean": rng.uniform(1, 9),
        "series": [{"place": place, "share_percent": share} for place, share in points],
    }


@figures_of.register(EachKeyHot)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    percent = {name: rng.uniform(1, 99) for name in ("equal_percent", "single_percent")}
    bounds = {name: rng.uniform(1, 99) for name in ("bound", "bound_one", "bound_two")}
    return {**percent, **all_runs(bounds)}


@figures_of.register(HotKeyPool)
def _(_scenario: Any, rng: np.random.Generator) -> dict[str, Any]:
    names = ("workers_most", "pool_half", "pool_end", "changes", "leaving_seconds")
    figures = all_runs({name: rng.uniform(1, 9) for name in names})
    figures["series"] = [{"seconds": each, "pool": each} for each in range(2, 5)]
    return figures


def made_up(scenario: Scenario, rng: np.random.Generator) -> dict[str, Any]:
    """Make up a row of results, in the form in which they are stored."""
    messages = (scenario.dataset.messages or 1000) * getattr(scenario, "draws", 1)
    return {**scenario.parameters, "messages": messages, **figures_of(scenario, rng)}


def results_of(experiment: Experiment, scale: Scale = QUICK) -> pd.DataFrame:
    """Make up results of all scenarios at a scale."""
    rng = np.random.default_rng(3)
    return pd.DataFrame([made_up(scenario, rng) for scenario in experiment.scenarios(scale)])


@pytest.mark.parametrize("experiment", available().values(), ids=available())
def test_tables_and_plots_are_made(experiment):
    results = results_of(experiment)
    given, frame = results.columns.tolist(), experiment.labelled(results)
    assert results.columns.tolist() == given
    columns = frame.columns.tolist()
    for table in experiment.tables(frame):
        assert table.rows()
        json.dumps(table.rows(), allow_nan=False)
        assert all(len(cells) == len(table.columns) for cells in table.cells())
    for plot in experiment.plots(frame):
        assert plot.title
        figure = Figure()
        plot.fill(figure, 960)
        assert all(panel.lines or panel.patches for panel in figure.axes)
    assert frame.columns.tolist() == columns  # functions that get the frame must not change it


@pytest.mark.parametrize("experiment", available().values(), ids=available())
def test_tables_have_the_figures_that_claims_need(experiment, tmp_path):
    frame = results_of(experiment, FULL)
    outcome = Outcome(experiment, FULL, 0, frame, (), tmp_path, "")
    assert [each.claim.id for each in outcome.findings if each.verdict == "not run"] == []


@pytest.mark.parametrize("experiment", available().values(), ids=available())
@pytest.mark.parametrize("scale", [QUICK, FULL], ids=["quick", "full"])
def test_scenarios_name_streams_and_groupings_that_exist(experiment, scale):
    scenarios = experiment.scenarios(scale)
    assert len({scenario.id for scenario in scenarios}) == len(set(scenarios)) == len(scenarios)
    for scenario in scenarios:
        if isinstance(scenario, JoinRun):
            assert scenario.config().name == f"{scenario.pipeline} {scenario.mode}"
        elif isinstance(scenario, ApplicationState):
            assert records_of(scenario.dataset, 0).num_rows == scenario.dataset.messages
        elif not (
            scenario.dataset.is_file
            or isinstance(scenario, PUBLICATIONS)
            or scenario.dataset.name in APPLICATIONS.values()
        ):
            assert generated(scenario.dataset.name).name == scenario.dataset.name
        if isinstance(scenario, PipelineRun):
            assert scenario.config().messages == scenario.dataset.messages
        if isinstance(scenario, Simulation | PipelineRun):
            assert parse(scenario.grouping).name == scenario.grouping.partition("(")[0]


def test_local_estimation_is_compared_over_the_papers_numbers_of_sources():
    experiment = find("pkg-figure-4")
    frame = experiment.labelled(results_of(experiment))
    assert {*frame["technique"]} == {"G", "L5", "L10", "L15", "L20", "H"}


def test_latencies_for_costs_and_for_periods_are_two_tables():
    experiment = find("pkg-table-3")
    tables = experiment.tables(experiment.labelled(results_of(experiment)))
    settings = ["D = 0.1 ms", "D = 0.5 ms", "D = 1 ms"], ["T = 10 s", "T = 30 s", "T = 60 s"]
    for table, named in zip(tables, settings, strict=True):
        scheme, *figures = [column.name.partition(", ") for column in table.columns]
        assert scheme[0] == "scheme"
        assert [figure[2] for figure in figures] == [each for each in named for _ in range(4)]
        assert len(set(figures)) == len(figures)


def test_every_table_and_figure_that_can_be_made_is_there():
    assert set(available()) >= PAPERS


def test_an_experiment_is_in_the_file_of_its_name():
    for name, experiment in available().items():
        paper, item = name.split("-", 1)
        place = type(experiment).__module__.removeprefix("evenkey.papers.experiments.")
        item = item.removesuffix(experiment.way.suffix)
        folder = f"{paper}.sections" if paper == "pkg" and "section" in item else paper
        assert place == f"{folder}.{item.replace('-', '_')}"
        assert re.fullmatch(
            r"(PKG|DKG|Joins), ((table|figure) \d+( a to [a-e]| [a-c])?(, on Spark)?"
            r"|section \d(\.\d)?)",
            experiment.reference,
        )


def test_experiments_simulated_and_run_on_spark_are_declared_once():
    found = available()
    for name, on_spark in found.items():
        if name.endswith("-spark"):
            simulated = found[name.removesuffix("-spark")]
            assert type(simulated) is type(on_spark)
            assert on_spark.timed
            assert not simulated.timed
            assert on_spark.reference == f"{simulated.reference}, on Spark"
            assert on_spark.title == f"{simulated.title}, throughput and latency measured"


def test_full_has_the_published_length_and_quick_is_shorter():
    full, quick = (
        {scenario.dataset.messages or 0 for scenario in find("pkg-table-2").scenarios(scale)}
        for scale in (FULL, QUICK)
    )
    assert full == {22_000_000, 1_200_000_000}
    assert max(quick) <= 1_000_000


def test_dkg_has_the_deployment_of_its_program():
    simulated: list[Any] = [*find("dkg-figure-13").scenarios(FULL)]
    assert {(each.sources, each.readers) for each in simulated} == {
        (10, spouts) for spouts in (5, 10, 15, 20)
    }
    on_spark: list[Any] = [*find("dkg-figure-13-spark").scenarios(FULL)]
    assert {(each.splitters, each.sources, each.aggregators) for each in on_spark} == {
        (10, spouts, 10) for spouts in (5, 10, 15, 20)
    }
    real: list[Any] = [*find("dkg-figure-9-spark").scenarios(QUICK)]
    costs = {each.dataset.name: each.cost_ms for each in real}
    assert {name: cost for name, cost in costs.items() if cost != 1} == {
        f"wikipedia-{name}-like": 0.1 for name in ("clickstream", "pageviews", "pageviews-by-lang")
    }


@pytest.mark.parametrize("scale", [QUICK, FULL], ids=["quick", "full"])
def test_dkg_takes_the_time_of_its_table_3(scale):
    seconds = []
    for name in ("dkg-table-3", "dkg-section-4"):
        (stream,) = {each.dataset for each in find(name).scenarios(scale)}
        assert stream.messages is not None
        assert stream.rate is not None
        seconds.append(stream.messages / stream.rate)
    assert seconds == pytest.approx([1175, 2350])  # section 4 has twice as many messages


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ConfigurationError, match="did you mean 'pkg-table-2'"):
        find("pkg-tabel-2")
    with pytest.raises(ConfigurationError, match="there are: full, medium, quick"):
        scale_named("huge")


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_timed_scenarios_are_repeated_as_the_scale_says(name):
    for scale in (QUICK, dataclasses.replace(QUICK, repeats=4), FULL):
        for scenario in find(name).scenarios(scale):
            if isinstance(scenario, Timed):
                assert scenario.repeats == scale.repeats


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_only_runs_change_with_their_number(name):
    one, four = (
        [*find(name).scenarios(each)] for each in (QUICK, dataclasses.replace(QUICK, repeats=4))
    )
    assert [
        dataclasses.replace(each, repeats=1) if isinstance(each, Timed) else each for each in four
    ] == one
