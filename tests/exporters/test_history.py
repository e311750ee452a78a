"""Histories: written records are read, during a run and after it."""

from __future__ import annotations

import json
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports, History, Parquet
from tests.exporters.records import JOIN, RUN, join_record, record


def test_records_survive_a_round_trip(tmp_path):
    history = History(tmp_path / "history")
    history.begin(RUN)
    history.add(record(3, epoch_messages=7))
    history.add(record(1, hottest=()))
    history.add(record(3, epoch_messages=9))
    assert history.run() == RUN
    assert history.numbers() == [1, 3]
    assert [history.record(1), history.record(3)] == [
        record(1, hottest=()),
        record(3, epoch_messages=7),
    ]
    assert pq.read_table(tmp_path / "history" / "epochs")["messages"].to_pylist() == [200, 400]


def test_a_record_without_the_workers_of_the_run_has_those_of_the_epoch(tmp_path):
    history = History(tmp_path)
    history.begin(RUN)
    history.add(record(0))
    (file,) = (tmp_path / "epochs").iterdir()
    table = pq.read_table(file)
    (older,) = table["hottest"].to_pylist()
    for hot in older:
        del hot["run_workers"]
    place = table.schema.get_field_index("hottest")
    pq.write_table(table.set_column(place, "hottest", pa.array([older])), file)
    assert [(hot.pool, hot.run_workers) for hot in history.record(0).hottest] == [
        ((0, 1), 2),
        ((1,), 1),
    ]


def test_figures_of_a_join_survive_a_round_trip(tmp_path):
    history = History(tmp_path)
    history.begin(JOIN)
    history.add(join_record(0))
    assert (history.run(), history.record(0)) == (JOIN, join_record(0))


def test_a_history_of_another_version_is_reported(tmp_path):
    history = History(tmp_path)
    history.begin(RUN)
    (tmp_path / "epochs").mkdir()
    later = pa.table({"epoch": [0]}).replace_schema_metadata({"evenkey.history": "9"})
    pq.write_table(later, tmp_path / "epochs" / "00000000.parquet")
    with pytest.raises(ValueError, match=r"version 9 of .* reads version 2: read the file with"):
        history.record(0)
    (tmp_path / "run.json").write_text(json.dumps({**vars(RUN), "version": 9}))
    with pytest.raises(ValueError, match=r"version 9 of .* reads version 2: read the file with"):
        history.run()


def test_an_undeclared_figure_is_rejected():
    with pytest.raises(ValueError, match=r"figures \['no_such'\] are not declared"):
        record(0, no_such=1)


def test_a_continued_run_keeps_its_epochs_and_has_no_ending(tmp_path):
    history = History(tmp_path)
    history.begin(RUN)
    history.add(record(0))
    assert history.ended() is None
    history.end("paused")
    ended = history.ended()
    assert ended is not None
    assert ended[0] == "paused"
    assert ended[1] == pytest.approx(history.last_sign_of_life(), abs=60)
    history.begin(RUN)
    assert history.ended() is None
    assert history.numbers() == [0]


def test_a_process_without_the_claim_writes_nothing(tmp_path):
    history = History(tmp_path)
    history.begin(RUN)
    history.end("finished")
    history.store.put("alive", b'{"at": 5}')
    woken = History(tmp_path, held=lambda: False)
    woken.add(record(0))
    woken.beat()
    woken.end("failed")
    assert (history.numbers(), history.last_sign_of_life()) == ([], 5)
    ended = history.ended()
    assert ended is not None
    assert ended[0] == "finished"


def test_heartbeats(tmp_path):
    history = History(tmp_path)
    history.begin(RUN)
    history.store.put("alive", b'{"at": 5}')
    assert history.last_sign_of_life() == 5
    history.beat()
    assert history.last_sign_of_life() > 1_000_000


def test_several_runs_share_a_directory(tmp_path):
    exports = Exports([f"parquet:{tmp_path}"], RUN, partial(Parquet, tmp_path / "out" / "history"))
    exports.offer(record(0))
    (summary,) = exports.close("finished")
    assert (summary.to, summary.points) == (f"parquet:{tmp_path / RUN.run}", 1)
    for directory in (tmp_path / RUN.run, tmp_path / "out" / "history"):
        assert History(directory).record(0) == record(0)
        ended = History(directory).ended()
        assert ended is not None
        assert ended[0] == "finished"


def test_a_directory_that_cannot_be_written_is_reported_before_the_run(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"cannot be written \(.+\); choose another"):
        Exports([f"parquet:{tmp_path / 'file'}"], RUN)


def test_a_failed_history_is_reported_without_an_export_option(tmp_path):
    exports = Exports([], RUN, partial(Parquet, tmp_path))
    (tmp_path / "epochs").touch()
    exports.offer(record(0))
    (summary,) = exports.close("finished")
    assert (summary.points, summary.dropped) == (0, 1)
    assert "File exists" in str(summary.error)
