"""An InfluxDB outage in the middle of a run."""

from __future__ import annotations

from collections import Counter

import pytest

from evenkey import PipelineConfig, run
from evenkey.core.streams import generated
from tests.servers import InfluxServer

MESSAGES, WORKERS, EPOCHS = 4000, 4, 8
POINTS = EPOCHS * (1 + WORKERS + 10)
"""Points per epoch: one for the epoch, one per worker, one per hot key. Epochs that only close
windows have no hot keys."""


@pytest.fixture
def server(tmp_path):
    with InfluxServer(tmp_path) as server:
        yield server


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("queue", [20, pytest.param(50_000, marks=pytest.mark.soak)])
def test_results_are_exact_and_drops_are_counted(server, queue):
    def interrupt(progress):
        if progress.phase == "running" and progress.epoch == 1:
            server.stop()
        if progress.phase == "running" and progress.epoch == 5:
            server.start()

    config = PipelineConfig(
        dataset="country-skew-r80",
        messages=MESSAGES,
        workers=WORKERS,
        sources=3,
        aggregators=2,
        epochs=EPOCHS,
        cost_ms=2,
        export=f"{server.address}?queue={queue}",
    )
    report = run(config, on_progress=interrupt)

    stream = generated("country-skew-r80", messages=MESSAGES)
    texts = stream.texts(stream.batch(0, MESSAGES).ids).to_pylist()
    counts: Counter[str] = Counter()
    assert report.table is not None
    for row in report.table.to_pylist():
        counts[row["key"]] += row["count"]
    assert counts == Counter(texts)

    (summary,) = report.exports
    closing, rest = divmod(summary.points + summary.dropped - POINTS, 1 + WORKERS)
    assert closing > 0
    assert rest == 0
    assert "no answer" in str(summary.error)
    assert (summary.dropped > 0) == (queue < POINTS)
    measurements = ("evenkey_epoch", "evenkey_worker", "evenkey_hot_key")
    assert sum(map(server.points, measurements)) == summary.points
