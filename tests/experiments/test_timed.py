"""Timed scenarios: medians, figures that must agree, and no concurrent measurements."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from evenkey.core.errors import RunError
from evenkey.papers.experiments import (
    QUICK,
    Progress,
    SeveralStreams,
    available,
    find,
    finished_runs,
    run,
    write_page,
)
from evenkey.papers.experiments.experiment_data import Dataset
from evenkey.papers.experiments.result_files import Store
from evenkey.papers.experiments.result_frames import series
from evenkey.papers.experiments.run_scenarios import _passes
from evenkey.papers.experiments.timed import MACHINE, Timed, TimedRun
from evenkey.reports.pictures import Column, Table
from tests.experiments.conftest import Squares

STREAM = Dataset("uniform(keys=2)", 10)
CLOCK: list[float] = []


@dataclass(frozen=True)
class Clocked(Timed):
    """A scenario whose times come from a list."""

    kind: ClassVar[str] = "clocked"

    number: int
    steady: bool = True

    def once(self, on_messages=None) -> TimedRun:
        del on_messages
        elapsed = CLOCK.pop(0)
        load = 7.0 if self.steady else elapsed
        return TimedRun({"load": load, "process": os.getpid()}, {"elapsed_ms": elapsed})


def test_timings_are_medians_and_the_machine_is_named():
    CLOCK[:] = [5.0, 100.0, 3.0]
    figures = Clocked(STREAM, 1).measure().figures
    assert (figures["load"], figures["elapsed_ms"]) == (7.0, 5.0)
    assert (figures["elapsed_ms_least"], figures["elapsed_ms_most"]) == (3.0, 100.0)
    assert "Spark 4" in str(figures[MACHINE])
    assert CLOCK == []


def test_a_single_run_has_no_range():
    CLOCK[:] = [5.0]
    assert "elapsed_ms_least" not in Clocked(STREAM, 1, repeats=1).measure().figures


def test_figures_that_are_no_timings_must_not_differ_between_runs():
    CLOCK[:] = [5.0, 5.0, 3.0]
    with pytest.raises(RunError, match=r"load differs between runs \(\['3.0', '5.0'\]\)"):
        Clocked(STREAM, 1, steady=False).measure()


def test_the_runs_of_scenarios_that_are_compared_alternate():
    CLOCK[:] = [1.0, 10.0, 2.0, 20.0, 30.0]
    one, other = Clocked(STREAM, 1, repeats=2), Clocked(STREAM, 2, repeats=3)
    first, second = Clocked.measure_all([one, other])
    assert (first.figures["elapsed_ms"], second.figures["elapsed_ms"]) == (1.5, 20.0)


@pytest.mark.parametrize("name", [name for name in available() if find(name).timed])
def test_methods_alternate_in_the_experiments(name):
    scenarios: list[Any] = [*find(name).scenarios(QUICK)]
    column = "mode" if name.startswith("joins") else "grouping"
    for alternating in _passes(scenarios, 1):
        settings = {joined(each) for each in alternating}
        methods = {getattr(each, column, None) for each in scenarios if joined(each) in settings}
        assert {getattr(each, column, None) for each in alternating} == methods


def joined(scenario: Any) -> tuple[Any, ...]:
    """Return the pipeline and the skew of a join, which not all modes have; else the same."""
    return getattr(scenario, "pipeline", None), getattr(scenario, "skew", None)


@dataclass(frozen=True)
class OnFreshData(Timed):
    """A scenario whose time is the seed of its stream."""

    kind: ClassVar[str] = "fresh"
    fresh: ClassVar[bool] = True

    def once(self, on_messages=None) -> TimedRun:
        del on_messages
        seed = self.dataset.seed
        return TimedRun({}, {"elapsed_ms": float(seed)}, pa.table({"seed": [seed]}))


def test_runs_on_fresh_data_have_the_next_seeds_and_the_first_ones_series():
    measurement = OnFreshData(STREAM).seeded(5).measure()
    assert measurement.figures["elapsed_ms"] == 6.0  # the median of 5, 6, 7
    assert measurement.figures["elapsed_ms_runs"] == [5.0, 6.0, 7.0]
    assert measurement.series is not None
    assert measurement.series.to_pylist() == [{"seed": 5}]


@dataclass(frozen=True)
class OnEachStream(SeveralStreams):
    kind: ClassVar[str] = "each-stream"

    def once(self) -> tuple[dict[str, float], None]:
        return {"load": float(self.dataset.seed)}, None


def test_simulations_of_several_streams_keep_the_figures_of_each():
    figures = OnEachStream(STREAM).seeded(5).measure().figures
    assert figures["load"] == 6.0
    assert (figures["load_least"], figures["load_most"]) == (5.0, 7.0)
    assert figures["load_runs"] == [5.0, 6.0, 7.0]


def test_points_of_a_series_have_all_runs_of_their_scenario(tmp_path):
    store = Store(tmp_path)
    scenarios = [OnFreshData(STREAM, repeats=repeats) for repeats in (1, 2)]
    for each in scenarios:
        store.write(each, each.measure())
    points = series(store.frame_and_digest(scenarios)[0])
    assert points["seed"].tolist() == [0, 0]
    assert points["elapsed_ms_runs"].tolist()[1] == [0.0, 1.0]


def test_one_run_on_fresh_data_has_no_list_of_runs():
    assert "elapsed_ms_runs" not in OnFreshData(STREAM, repeats=1).measure().figures


def test_tables_show_all_runs_on_fresh_data(small, tmp_path, monkeypatch):
    CLOCK[:] = [3.0, 1.0, 2.0]
    monkeypatch.setattr(small, "scenarios", lambda _: [OnFreshData(STREAM), Clocked(STREAM, 1)])
    monkeypatch.setattr(small, "plots", lambda _: ())
    columns = [Column("kind", "Kind"), Column("elapsed_ms", "Time, ms", ".1f")]
    monkeypatch.setattr(small, "tables", lambda frame: [Table("Times", columns, frame)])
    outcome = run(small, QUICK, tmp_path)
    assert [row for table in outcome.shown for row in table["cells"]] == [
        ["fresh", "1.0 (0.0; 1.0; 2.0)"],
        ["clocked", "2.0 (1.0 to 3.0)"],
    ]
    text = " ".join(write_page(outcome, tmp_path).read_text().split())
    assert "Brackets have minimum and maximum, or all runs if each had data of its own." in text


def test_the_number_of_runs_is_part_of_the_scenario():
    scenario = Clocked(STREAM, 1)
    assert scenario.parameters["repeats"] == 3
    assert dataclasses.replace(scenario, repeats=3).id == scenario.id
    assert dataclasses.replace(scenario, repeats=1).id != scenario.id


def test_they_run_alone_in_this_process_and_the_page_says_where(small, tmp_path, monkeypatch):
    CLOCK[:] = [1.0, 2.0, 3.0]
    scenarios = [Clocked(STREAM, 1), Squares(STREAM, 2), Squares(STREAM, 3)]
    monkeypatch.setattr(small, "scenarios", lambda _: scenarios)
    monkeypatch.setattr(small, "plots", lambda _: ())
    outcome = run(small, QUICK, tmp_path, jobs=2)
    assert outcome.frame["process"].iloc[0] == os.getpid()
    (where,) = outcome.machines
    assert (outcome.repeats, outcome.to_json()["machines"]) == ([3], [where])
    text = " ".join(write_page(outcome, tmp_path).read_text().split())
    assert f"measured on {where}" in text
    assert "as the median of 3 runs" in text
    assert "All figures are simulated" not in text
    run(small, QUICK, tmp_path)  # fails if it measures again, since the list of times is empty


class Compared(Clocked):
    """A scenario whose runs alternate with those of another one."""

    @property
    def at_once(self) -> int:
        return 2


COMPARED = [Compared(STREAM, 1), Compared(STREAM, 2)]


@pytest.fixture
def clocked(small, monkeypatch):
    """Return the small experiment with two scenarios of three runs, whose times are in CLOCK."""
    monkeypatch.setattr(small, "scenarios", lambda _: COMPARED)
    return small


def times(outcome) -> list[float]:
    found: list[float] = outcome.frame["elapsed_ms"].tolist()
    return found


def test_a_command_that_was_stopped_continues_after_the_last_finished_run(clocked, tmp_path):
    CLOCK[:] = [1.0, 10.0, 2.0, 20.0]
    with pytest.raises(IndexError):  # the list of times is empty in the fifth of six runs
        run(clocked, QUICK, tmp_path)
    reported: list[Progress] = []
    CLOCK[:] = [3.0, 30.0]
    assert times(run(clocked, QUICK, tmp_path, on_progress=reported.append)) == [2.0, 20.0]
    assert [(each.done, each.total) for each in reported] == [(done, 6) for done in range(1, 7)]
    assert [file.suffix for file in (tmp_path / "results").iterdir()] == [".parquet"] * 2


def test_finished_runs_are_not_used_to_measure_again(clocked, tmp_path):
    CLOCK[:] = [1.0, 10.0, 2.0, 20.0]
    with pytest.raises(IndexError):
        run(clocked, QUICK, tmp_path)
    CLOCK[:] = [4.0, 40.0, 5.0, 50.0, 6.0, 60.0]
    assert times(run(clocked, QUICK, tmp_path, again=True)) == [5.0, 50.0]


def test_runs_that_differ_are_measured_again_as_the_message_says(small, tmp_path, monkeypatch):
    monkeypatch.setattr(small, "scenarios", lambda _: [Clocked(STREAM, 1, steady=False)])
    CLOCK[:] = [5.0, 5.0, 3.0]
    with pytest.raises(RunError, match="run it again with --again"):
        run(small, QUICK, tmp_path)
    CLOCK[:] = [4.0, 4.0, 4.0]
    assert times(run(small, QUICK, tmp_path, again=True)) == [4.0]


def test_runs_of_another_machine_are_measured_again(clocked, tmp_path, monkeypatch):
    CLOCK[:] = [1.0, 10.0]
    monkeypatch.setattr(finished_runs, "machine", lambda: "another one")
    with pytest.raises(IndexError):
        run(clocked, QUICK, tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(clocked, "scenarios", lambda _: COMPARED)
    CLOCK[:] = [4.0, 40.0, 5.0, 50.0, 6.0, 60.0]
    assert times(run(clocked, QUICK, tmp_path)) == [5.0, 50.0]


class StoppedOnce(OnFreshData):
    """A scenario that stops before the run whose seed is in CLOCK."""

    kind: ClassVar[str] = "stopped"

    def once(self, on_messages=None) -> TimedRun:
        if self.dataset.seed in CLOCK:
            raise KeyboardInterrupt
        return super().once(on_messages)._replace(figures={"load": 7, "skew": 1 / 3, "sort": None})


def test_a_run_comes_from_its_file_as_it_was(small, tmp_path, monkeypatch):
    monkeypatch.setattr(small, "scenarios", lambda _: [StoppedOnce(STREAM)])
    whole = run(small, QUICK, tmp_path / "whole")
    CLOCK[:] = [1.0]
    with pytest.raises(KeyboardInterrupt):
        run(small, QUICK, tmp_path / "stopped")
    CLOCK.clear()
    stopped = run(small, QUICK, tmp_path / "stopped")
    assert stopped.digest == whole.digest
