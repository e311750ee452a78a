"""The joins' scenarios without Spark give what the definitions of skew and MLDC say."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import shapely

from evenkey.joins import DynamicDistributor, leaves_of
from evenkey.papers.experiments import Dataset
from evenkey.papers.experiments.joins.rehearsal import (
    DATA,
    HEAVY,
    LOAD,
    POINTS,
    SPREAD,
    STATIC,
    DrawnJoin,
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
from evenkey.papers.publish_subscribe.places import (
    PublicationMix,
    Publications,
    draw_subscriptions,
    synthetic_atlas,
)

if TYPE_CHECKING:
    from evenkey.papers.experiments import Scenario

FEW = Dataset("publications", 4800)


def figures_of(scenario: Scenario) -> dict[str, Any]:
    return scenario.measure().figures


@pytest.mark.parametrize("skew", [3 / 16, 0.5])
def test_points_have_the_nominal_skew(skew):
    figures = figures_of(SkewReached(FEW, "sps", skew, POINTS, seeds=1))
    assert figures["realised"] == pytest.approx(skew, abs=0.02)
    # Three of 16 workers have the share, and the others what is left.
    expected = 16 * max(skew / 3, (1 - skew) / 13)
    assert figures["max_over_mean"] == pytest.approx(expected, rel=0.15)


def test_mldc_is_that_of_the_share_on_three_workers_until_partitions_move():
    static, moving = (
        figures_of(RehearsedJoin(FEW, 0.7, mode, POINTS, seeds=1)) for mode in (STATIC, LOAD)
    )
    assert static["mldc_later"] == pytest.approx(16 * 0.7 / 3 - 1, abs=0.15)
    assert static["idle_percent"] == pytest.approx(100 * (1 - 0.3 / 13 / (0.7 / 3)), abs=8)
    assert static["redistributions"] == 0 < moving["redistributions"]
    assert moving["mldc_later"] < 0.5
    assert "reaction_seconds" not in static


def test_a_redistribution_lowers_the_mldc_by_more_than_the_least_improvement():
    static, moving = (
        figures_of(RehearsedMoves(FEW, 0.7, mode, POINTS, seeds=1)) for mode in (STATIC, LOAD)
    )
    assert "fall" not in static
    assert 0.3 < moving["fall"] <= static["mldc_first"] + 0.5


def test_without_conditions_partitions_move_at_more_checks():
    rules, often, always = (
        figures_of(MovedPartitions(FEW, 0.7, LOAD, seeds=1, shifting=True, check_seconds=seconds))
        for seconds in (0.0, 10.0, 0.5)
    )
    assert 0 < rules["moved"] < often["moved"] < always["moved"]
    assert rules["redistributions"] < often["redistributions"] <= 12  # one per 10 s


def test_a_redistribution_that_costs_nothing_saves_what_the_least_loaded_workers_save():
    static, moving, usual = (
        figures_of(
            PricedMoves(FEW, 0.7, LOAD, seeds=1, price=0.0, parameter="threshold", value=value)
        )
        for value in (1e9, 0.5, DynamicDistributor.threshold)
    )
    assert moving == usual
    assert moving["over_usual"] == 1.0 < static["over_usual"]
    assert (static["paused_percent"], moving["paused_percent"]) == (0.0, 0.0)


def test_the_price_of_moves_is_that_of_the_worker_that_gets_most_subscriptions():
    def paused(price: float) -> float:
        scenario = PricedMoves(
            FEW,
            0.7,
            LOAD,
            seeds=1,
            price=price,
            parameter="period",
            value=DynamicDistributor.period,
        )
        figures = figures_of(scenario)
        assert figures["over_usual"] == 1.0
        return float(figures["paused_percent"] / (100 - figures["paused_percent"]))

    assert 0 < paused(1.0) == pytest.approx(paused(10.0) / 10)


@pytest.mark.parametrize("pipeline", ["sps", "spis"])
def test_the_steps_of_a_pipeline_add_up(pipeline):
    figures = figures_of(StepsOfPipeline(Dataset("publications", 960), pipeline, 0.7, repeats=1))
    steps = ("unpack", "route", "join", "match")
    assert sum(figures[f"{step}_percent"] for step in steps) == pytest.approx(100)
    assert min(figures[f"{step}_us"] for step in steps) > 0
    assert figures["prepared"] > 0


def test_a_stream_without_skew_moves_nothing_however_often_it_is_checked():
    for seconds in (0.5, 10.0):
        figures = figures_of(ChecksOfDistributor(Dataset("publications", 24_000), seconds))
        assert figures["moves"] == 0
        assert figures["core_percent"] > 0


def test_subscriptions_are_compared_as_by_naive_loops():
    atlas = synthetic_atlas()
    shapes = draw_subscriptions(atlas, 300, 0)["geometry"].to_numpy()
    leaves = leaves_of(shapes, "kdb", 128)
    made = Publications(atlas, leaves, 16, PublicationMix(0.3, 0.3, 1.0), 0).make(np.arange(40))
    static, streamed = (
        [
            (box, {*leaves.touched(box[None])[1].tolist()})
            for box in shapely.bounds(shapely.from_wkb(each))
        ]
        for each in (shapes, made["geometry"].to_numpy())
    )
    counts = {"sps": 0, "spis": 0, "rips": 0}
    for one, asked in streamed:
        for other, held in static:
            meets = (one[:2] <= other[2:]).all() and (other[:2] <= one[2:]).all()
            counts["sps"] += len(asked & held)
            counts["spis"] += len(asked & held) if meets else 0
            counts["rips"] += bool(meets)
    for pipeline, count in counts.items():
        scenario = ComparedRows(Dataset("publications", 40), pipeline, 300, seeds=1)
        assert figures_of(scenario)["compared"] == pytest.approx(count / 40)


def test_rows_are_balanced_without_balancing_load_if_polygons_take_longer():
    stream = Dataset("publications", 24_000)
    by = {
        mode: figures_of(RehearsedJoin(stream, 0.7, mode, HEAVY, seeds=1))["mldc_later"]
        for mode in (LOAD, DATA)
    }
    assert by[DATA] > 1.5 * by[LOAD]


def test_no_plan_is_better_than_the_best_one():
    cases = PlannedCases(Dataset("zipf(z=0.5,keys=5)", 100), partitions=5, cases=20, seeds=1)
    figures = figures_of(cases)
    assert 1 <= figures["load_best"] <= figures["load_fewest"] <= figures["load_greedy"]
    assert 0 < figures["moves_fewest"] <= figures["moves_greedy"] <= 5
    assert figures["load_fewest"] == pytest.approx(figures["load_greedy"])


def test_the_figure_of_the_paper_is_planned_as_the_paper_says():
    measured = PlannedExample(
        Dataset("uniform(keys=5)", 5), "40 20 20 10 10", "0 0 1 2 2"
    ).measure()
    assert measured.figures["moved"] == 2
    assert measured.series is not None
    assert measured.series["after"].to_pylist() == [1, 3, 2, 2, 3]


def test_sent_data_are_the_bytes_of_geometries():
    figures = figures_of(SentData(Dataset("publications", 480), 0.3, repeats=1))
    drawn = DrawnJoin.of(0.3, SPREAD, 0, 480)
    bounds = [shapely.bounds(shapely.from_wkb(each)) for each in drawn[:2]]
    (static, held), (_, asked) = ([*map(list, drawn.leaves.touched(each))] for each in bounds)
    of_partition: Counter[int] = Counter()
    for number, partition in zip(static, held, strict=True):
        of_partition[partition] += len(drawn.subscriptions[number])
    # 240 epochs have two publications each.
    number = drawn.leaves.touched(bounds[1])[0]
    asked_in_epochs = set(zip(number // 2, asked, strict=True))
    every = sum(of_partition[partition] for _, partition in asked_in_epochs)
    assert figures["every_epoch_mb"] == pytest.approx(every / 1e6)
    rows = sum(len(drawn.publications[each]) for each in number)
    assert figures["rows_mb"] == pytest.approx(rows / 1e6)
    assert figures["moved_mb"] >= sum(of_partition.values()) / 1e6
    assert figures["static_local_mb"] == pytest.approx(figures["rows_mb"] + figures["moved_mb"])
    assert {"rows_seconds", "moved_seconds", "every_epoch_seconds"} <= figures.keys()
