"""Histories: what is written is read, while a run goes on and after it."""

from __future__ import annotations

import os

import pyarrow.parquet as pq
import pytest

from evenkey.errors import ConfigurationError
from evenkey.exporters import Exports, History
from tests.exporters.records import RUN, record


def test_records_come_back_as_they_were(tmp_path):
    history = History(tmp_path / "history")
    history.begin(RUN)
    history.add(record(3, messages=7))
    history.add(record(1, hottest=()))
    history.add(record(3, messages=9))
    assert history.run() == RUN
    assert history.numbers() == [1, 3]
    assert [history.record(1), history.record(3)] == [record(1, hottest=()), record(3, messages=7)]
    assert pq.read_table(history.epochs)["total_count"].to_pylist() == [200, 400]


def test_a_run_that_goes_on_keeps_its_epochs_and_is_not_ended_any_more(tmp_path):
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


def test_who_may_not_write_any_more_leaves_it_alone(tmp_path):
    history = History(tmp_path)
    history.begin(RUN)
    history.end("finished")
    os.utime(tmp_path / "alive", (5, 5))
    woken = History(tmp_path, held=lambda: False)
    woken.add(record(0))
    woken.beat()
    woken.end("failed")
    assert (history.numbers(), history.last_sign_of_life()) == ([], 5)
    ended = history.ended()
    assert ended is not None
    assert ended[0] == "finished"


def test_signs_of_life(tmp_path):
    history = History(tmp_path)
    history.begin(RUN)
    os.utime(tmp_path / "alive", (5, 5))
    assert history.last_sign_of_life() == 5
    history.beat()
    assert history.last_sign_of_life() > 1_000_000


def test_several_runs_share_a_directory(tmp_path):
    exports = Exports([f"parquet:{tmp_path}"], RUN, history=tmp_path / "out" / "history")
    exports.offer(record(0))
    (summary,) = exports.close("finished")
    assert (summary.to, summary.points) == (f"parquet:{tmp_path / RUN.run}", 1)
    for directory in (tmp_path / RUN.run, tmp_path / "out" / "history"):
        assert History(directory).record(0) == record(0)
        ended = History(directory).ended()
        assert ended is not None
        assert ended[0] == "finished"


def test_a_directory_that_cannot_be_written_is_told_before_the_run(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"cannot be written \(.+\); choose another"):
        Exports([f"parquet:{tmp_path / 'file'}"], RUN)


def test_a_history_that_fails_is_told_of_though_nobody_asked_for_it(tmp_path):
    exports = Exports([], RUN, history=tmp_path)
    (tmp_path / "epochs").rmdir()
    exports.offer(record(0))
    (summary,) = exports.close("finished")
    assert (summary.points, summary.dropped) == (0, 1)
    assert "No such file" in str(summary.error)
