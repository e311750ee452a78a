"""The recorder: exporters learn that a run ended, for whatever reason."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evenkey.pipeline.exporters import Exports, History
from evenkey.pipeline.runs.driving.run_recorder import Recorder
from evenkey.pipeline.runs.driving.timing import Span
from tests.exporters.records import RUN


@pytest.mark.parametrize(
    ("error", "ending"), [(ValueError, "failed"), (KeyboardInterrupt, "paused")]
)
def test_an_error_and_an_interruption_end_the_history(tmp_path, error, ending):
    exports = Exports([], RUN, history=tmp_path)
    with pytest.raises(error), Recorder(exports):
        raise error
    ended = History(tmp_path).ended()
    assert ended is not None
    assert ended[0] == ending


def test_a_run_that_ended_by_itself_is_not_ended_again(tmp_path):
    exports = Exports([f"parquet:{tmp_path}"], RUN)
    with Recorder(exports) as recorder:
        (summary,) = recorder.close("finished")
    assert summary.points == 0
    ended = History(tmp_path / RUN.run).ended()
    assert ended is not None
    assert ended[0] == "finished"


def progress(epoch, began, milliseconds):
    """Return Spark's report of an epoch."""
    at = datetime.fromtimestamp(began / 1000, tz=UTC).isoformat()
    return {
        "batchId": epoch,
        "timestamp": at,
        "durationMs": {"triggerExecution": milliseconds, "latestOffset": 0},
    }


def test_records_have_the_jobs_figures_and_durations(tmp_path):
    exports = Exports([], RUN, history=tmp_path)
    with Recorder(exports) as recorder:
        recorder.time([progress(0, 5000, 1000), progress(1, 6500, 500)])
        recorder.record(0, {"messages": 100, "epoch_messages": 100})
        measured = {"messages": 150, "epoch_messages": 50, "matches": 7, "mldc": float("nan")}
        recorder.record(1, measured)
        recorder.close("finished")
    first, last = (History(tmp_path).record(epoch) for epoch in (0, 1))
    assert (first.ended, first["makespan_ms"], first["messages_per_second"]) == (6.0, 1000, 100)
    assert (last.ended, last["makespan_ms"], last["messages_per_second"]) == (7.0, 2000, 75)
    assert (last["epoch_latency_ms"], last["epoch_messages_per_second"]) == (500, 100)
    assert (last["latency_p50_ms"], last["latency_p99_ms"]) == (750, pytest.approx(995))
    assert (last["matches"], first.get("matches"), last.get("mldc")) == (7, None, None)


def test_epochs_whose_process_was_killed_before_their_export_are_in_the_history(
    tmp_path, monkeypatch
):
    history = History(tmp_path / "history")
    history.begin(RUN)
    with Recorder(Exports([], RUN, history=history.store)) as before:
        before.time([progress(0, 5000, 1000)])
        before.record(0, {"messages": 100, "epoch_messages": 100})
    kept = history.record(0)
    # Epochs 0 to 2 were committed under claims 1, 1 and 2; only epoch 0 was exported.
    earlier = {
        0: (1, Span(5000.0, 0.0, 990.0)),
        1: (1, Span(6000.0, 0.0, 400.0)),
        2: (2, Span(9000.0, 0.0, 250.0)),
    }
    elsewhere = tmp_path / "elsewhere"
    exports = Exports([f"parquet:{elsewhere}"], RUN, history=history.store)
    monkeypatch.setattr(exports._outlets[0]._exporter, "lacks", lambda _: False)  # a database
    with Recorder(exports, earlier) as recorder:
        recorder.time([progress(3, 20_000, 500)])
        for epoch in range(4):
            recorder.record(epoch, {"messages": 100 * (epoch + 1), "epoch_messages": 100})
        recorder.close("finished")
    assert history.numbers() == [0, 1, 2, 3]
    assert history.record(0) == kept
    ends = [history.record(epoch).ended for epoch in range(4)]
    assert ends == [6.0, 6.4, 9.25, 20.5]
    assert [history.record(epoch)["makespan_ms"] for epoch in (1, 2, 3)] == [1400, 250, 500]
    assert [history.record(epoch)["epoch_latency_ms"] for epoch in (1, 2, 3)] == [400, 250, 500]
    assert History(elsewhere / RUN.run).numbers() == [3]
