"""The stored report of a run that an earlier version finished can be read."""

from __future__ import annotations

import json

from evenkey.core.metrics import EpochMetrics, PairCounts, RunMetrics, Seen
from evenkey.pipeline.aggregate.report import RunReport
from evenkey.pipeline.runs.driving.run_times import Timing
from evenkey.pipeline.runs.output.directory import RunDirectory

OF_VERSION_1 = {"messages", "keys", "pairs", "max_over_mean", "stddev_percent", "dist_cost"}


def report(counts):
    return RunReport(
        dataset="words",
        grouping="pkg",
        workers=2,
        sources=1,
        metrics=RunMetrics.of(Seen(counts, 0)),
        epochs=(EpochMetrics.of_epoch(0, counts, 0),),
        timing=Timing(2000.0, (500.0, 1500.0)),
        seconds=2.5,
        lines=4,
        rejected=1,
        late=0,
        finished=True,
        results=None,
        dead_letters=None,
        state=None,
    )


def test_a_stored_report_has_the_same_figures(tmp_path):
    made = report(PairCounts(workers=2))
    kept = json.loads(json.dumps(made.to_record()))
    restored = RunReport.restored(kept, RunDirectory(tmp_path))
    assert restored.to_json() == {**made.to_json(), "finished_before": True}
    assert (made.to_json()["duration_p50_ms"], made.to_json()["rejected"]) == (1000, 1)


def test_a_figure_that_an_earlier_version_did_not_have_is_null(tmp_path):
    kept = report(PairCounts(workers=2)).to_record()
    for each in (kept["metrics"], *kept["epochs"]):
        for name in each.keys() - OF_VERSION_1 - {"loads", "epoch"}:
            del each[name]
    figures = RunReport.restored(kept, RunDirectory(tmp_path)).to_json()
    assert figures["imbalance_fraction"] is None
    assert (figures["max_over_mean"], figures["loads"]) == (1.0, [0, 0])
    assert figures["epoch_imbalance_fraction"] == {"p50": None, "max": None}
    assert figures["epoch_max_over_mean"] == {"p50": 1.0, "max": 1.0}
