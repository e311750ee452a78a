"""Joins on a small cluster: places of static partitions, and all modes of all pipelines."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from evenkey.joins.matching.on import PIPELINES
from evenkey.papers.publish_subscribe import MODES, JoinConfig, compare_joins

WORKERS, PARTITIONS, EPOCHS, FORCED = 4, 16, 6, 3


def compared(*options) -> list[dict[str, Any]]:
    command = [
        *(sys.executable, "-m", "evenkey", "join", "compare", "--json", "--verify"),
        *("--publications", "2400", "--subscriptions", "600", "--polygon-share", "0.1"),
        *("--workers", str(WORKERS), "--partitions", str(PARTITIONS), "--epochs", str(EPOCHS)),
        *("--force-redistribution", str(FORCED), *options),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return results


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_static_partitions_are_loaded_as_each_mode_predicts():
    strl, stal, moving = compared("--modes", "static-strl,static-stal,dynamic-db-stal")
    assert strl["epoch_static_loads"] == [PARTITIONS] * EPOCHS
    assert stal["epoch_static_loads"] == [PARTITIONS] + [0] * (EPOCHS - 1)
    moved = {each["epoch"]: len(each["moved_partitions"]) for each in moving["redistributions"]}
    assert FORCED in moved
    # A partition is loaded when its first item comes, which may be some epochs after a move.
    loads = moving["epoch_static_loads"]
    assert loads[0] == PARTITIONS
    assert all(loads[epoch] <= moved.get(epoch, 0) for epoch in range(1, EPOCHS))
    assert sum(loads[1:]) >= moved[FORCED] // 2


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", ["dynamic-lb-stal", "dynamic-db-stal"])
def test_moving_partitions_brings_the_imbalance_below_the_threshold(mode):
    command = [
        *(sys.executable, "-m", "evenkey", "join", "run", "--json", "--pipeline", "spis"),
        *("--mode", mode, "--workers", "16", "--partitions", "64", "--skew", "0.7"),
        *("--publications", "40000", "--subscriptions", "4000"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["mldc"][0] > 1
    assert report["mldc"][1] < 0.5
    loads = report["epoch_static_loads"]
    assert loads[0] == 64
    assert 0 < sum(loads[1:]) < 64


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_all_modes_find_the_pairs_of_one_process(pipeline):
    config = JoinConfig(
        pipeline=pipeline,
        publications=600,
        subscriptions=150,
        workers=2,
        partitions=6,
        epochs=3,
        skew=0.7,
        polygon_share=0.3,
        seconds=30,
        force_redistribution=1,
        verify=True,
    )
    reports = [report.to_json() for report in compare_joins(config, MODES)]
    assert {report["pairs_digest"] for report in reports} == {reports[0]["expected_digest"]}
    for report in reports:
        moved = [each["epoch"] for each in report["redistributions"]]
        assert moved == ([1] if report["mode"].startswith("dynamic") else [])
