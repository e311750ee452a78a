"""The report of a join, as it is stored beside the results."""

from __future__ import annotations

import json

import numpy as np

from evenkey.papers.publish_subscribe.join_seen import LoadMeasure
from evenkey.papers.publish_subscribe.report import JoinEpoch, JoinReport
from evenkey.pipeline.runs.driving.run_times import Timing


def test_a_report_that_was_kept_gives_the_same_figures(tmp_path):
    epochs = [
        JoinEpoch(
            epoch=number,
            items=np.array([3.0, 5.0]),
            seconds=np.array([0.25, 0.5]),
            slot_seconds=np.array([0.5, 0.75]),
            moved=(number, 4),
            redistribution_seconds=0.5,
            moved_load_seconds=0.25,
            static_loads=2,
            pairs=7,
            first_items=np.array([6.0, 2.0]),
        )
        for number in range(3)
    ]
    report = JoinReport(
        pipeline="sps",
        mode="dynamic-lb-stal",
        workers=2,
        partitions=6,
        measure=LoadMeasure.SECONDS,
        publications=8,
        subscriptions=9,
        matches=21,
        matched_publications=7,
        pairs_digest="digest",
        epochs=epochs,
        timing=Timing(250.0, (100.0, 150.0)),
        epoch_ms={0: 80.0, 1: 90.0, 2: 70.0},
        rejected=1,
        finished=True,
        results=tmp_path / "before",
        publication_latency_ms={"mean": 80.5, "p50": 79.0, "p99": None},
    )
    kept = json.loads(json.dumps(report.to_record()))
    restored = JoinReport.restored(kept, tmp_path / "now")
    differing = {"finished_before": True, "results": str(tmp_path / "now")}
    assert restored.to_json() == {**report.to_json(), **differing}
    assert restored.realised_skew == 0.75
