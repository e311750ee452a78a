"""The recorder: exporters learn that a run ended, for whatever reason."""

from __future__ import annotations

from functools import partial

import pytest

from evenkey.pipeline.exporters import Exports, History, Parquet
from evenkey.pipeline.runs.driving.run_recorder import Recorder
from evenkey.pipeline.runs.driving.run_times import Timeline
from evenkey.pipeline.runs.output.commits import Span
from tests.exporters.records import RUN
from tests.runs.reports_of_spark import progress


@pytest.mark.parametrize(
    ("error", "ending"), [(ValueError, "failed"), (KeyboardInterrupt, "paused")]
)
def test_an_error_and_an_interruption_end_the_history(tmp_path, error, ending):
    exports = Exports([], RUN, partial(Parquet, tmp_path))
    with pytest.raises(error), Recorder(exports, Timeline()):
        raise error
    ended = History(tmp_path).ended()
    assert ended is not None
    assert ended[0] == ending


def test_a_run_that_ended_by_itself_is_not_ended_again(tmp_path):
    exports = Exports([f"parquet:{tmp_path}"], RUN)
    with Recorder(exports, Timeline()) as recorder:
        (summary,) = recorder.close("finished")
    assert summary.points == 0
    ended = History(tmp_path / RUN.run).ended()
    assert ended is not None
    assert ended[0] == "finished"


def test_records_have_the_jobs_figures_and_durations(tmp_path):
    exports = Exports([], RUN, partial(Parquet, tmp_path))
    timeline = Timeline()
    with Recorder(exports, timeline) as recorder:
        timeline.take_in([progress(0, 5000, 1000), progress(1, 6500, 500)])
        recorder.record(0, {"messages": 100, "epoch_messages": 100})
        measured = {"messages": 150, "epoch_messages": 50, "matches": 7, "mldc": float("nan")}
        recorder.record(1, measured)
        timeline.take_in([progress(2, 7000, 3000, rows=0)])
        recorder.record(2, {"messages": 150})
        recorder.close("finished")
    first, last, closing = (History(tmp_path).record(epoch) for epoch in (0, 1, 2))
    assert (first.ended, first["makespan_ms"], first["messages_per_second"]) == (6.0, 1000, 100)
    assert (last.ended, last["makespan_ms"], last["messages_per_second"]) == (7.0, 2000, 75)
    assert (last["epoch_duration_ms"], last["epoch_messages_per_second"]) == (500, 100)
    assert (last["epochs"], last["duration_p50_ms"], last.get("duration_p99_ms")) == (2, 750, None)
    # The epoch that closes windows has no input, but is part of the makespan.
    assert (closing["makespan_ms"], closing["messages_per_second"]) == (5000, 30)
    assert (closing["epochs"], closing["duration_p50_ms"]) == (2, 750)
    assert not {"epoch_duration_ms", "epoch_messages_per_second"} & closing.figures.keys()
    assert [each["lag"] for each in (first, last, closing)] == [60, 60, 60]
    assert (last["matches"], first.get("matches"), last.get("mldc")) == (7, None, None)


def test_epochs_whose_process_was_killed_before_their_export_are_in_the_history(
    tmp_path, monkeypatch
):
    history = History(tmp_path / "history")
    history.begin(RUN)
    timeline = Timeline()
    with Recorder(Exports([], RUN, partial(Parquet, history.store)), timeline) as before:
        timeline.take_in([progress(0, 5000, 1000)])
        before.record(0, {"messages": 100, "epoch_messages": 100})
    kept = history.record(0)
    # Epochs 0 to 2 were committed under claims 1, 1 and 2; only epoch 0 was exported.
    earlier = {
        0: (1, Span(5000.0, 0.0, 990.0)),
        1: (1, Span(6000.0, 0.0, 400.0)),
        2: (2, Span(9000.0, 0.0, 250.0)),
    }
    elsewhere = tmp_path / "elsewhere"
    exports = Exports([f"parquet:{elsewhere}"], RUN, partial(Parquet, history.store))
    monkeypatch.setattr(exports._outlets[0]._exporter, "lacks", lambda _: False)  # a database
    timeline = Timeline(earlier)
    with Recorder(exports, timeline) as recorder:
        timeline.take_in([progress(3, 20_000, 500)])
        for epoch in range(4):
            recorder.record(epoch, {"messages": 100 * (epoch + 1), "epoch_messages": 100})
        recorder.close("finished")
    assert history.numbers() == [0, 1, 2, 3]
    assert history.record(0) == kept
    ends = [history.record(epoch).ended for epoch in range(4)]
    assert ends == [6.0, 6.4, 9.25, 20.5]
    # The pauses between the three processes do not count.
    assert [history.record(epoch)["makespan_ms"] for epoch in (1, 2, 3)] == [1400, 1650, 2150]
    assert [history.record(epoch)["epoch_duration_ms"] for epoch in (1, 2, 3)] == [400, 250, 500]
    assert [history.record(epoch)["epochs"] for epoch in (1, 2, 3)] == [2, 3, 4]
    assert History(elsewhere / RUN.run).numbers() == [3]
