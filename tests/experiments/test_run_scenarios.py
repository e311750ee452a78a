"""Running experiments: what is measured, what is not repeated, what is left out."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.papers.experiments import QUICK, Progress, Scale, run, write_page
from evenkey.papers.experiments.dkg.table_1 import LargestPools

TINY = Scale("tiny", 2000)


def test_each_scenario_is_measured_once(small, measured, tmp_path):
    outcome = run(small, QUICK, tmp_path)
    assert len(measured) == 3
    assert outcome.frame["number"].tolist() == [3, 1, 2]
    assert outcome.frame["messages"].tolist() == [500_000] * 3
    run(small, QUICK, tmp_path)
    assert len(measured) == 3


def test_a_run_continues_after_a_stop(small, measured, tmp_path):
    first = run(small, QUICK, tmp_path)
    lost = next(first.results.glob("*.parquet"))
    content = lost.read_bytes()
    lost.unlink()
    second = run(small, QUICK, tmp_path)
    assert len(measured) == 4
    assert lost.read_bytes() == content
    assert second.frame.equals(first.frame)


def test_again_measures_again(small, measured, tmp_path):
    run(small, QUICK, tmp_path)
    run(small, QUICK, tmp_path, again=True)
    assert len(measured) == 6


def test_another_seed_is_another_result(small, measured, tmp_path):
    squares = [run(small, QUICK, tmp_path, seed=seed).frame["square"].tolist() for seed in (0, 5)]
    assert squares == [[9, 1, 4], [14, 6, 9]]
    assert len(measured) == 6


def test_unavailable_scenarios_are_left_out_with_their_reason(small, tmp_path):
    (reason,) = run(small, QUICK, tmp_path).skipped
    assert reason.startswith("nowhere.txt.gz is not in")
    assert "EVENKEY_DATA" in reason


def test_an_experiment_without_available_scenarios_is_reported(small, tmp_path, monkeypatch):
    monkeypatch.setattr(small, "scenarios", lambda scale: type(small)().scenarios(scale)[-1:])
    outcome = run(small, QUICK, tmp_path)
    assert len(outcome.skipped) == 1
    assert [*outcome.tables, *outcome.plots] == []
    assert {each.verdict for each in outcome.findings} == {"not run"}
    assert "Left out: nowhere.txt.gz" in write_page(outcome, tmp_path).read_text()


def test_progress_comes_on_the_way_and_at_the_end(small, tmp_path):
    reported: list[Progress] = []
    run(small, QUICK, tmp_path, on_progress=reported.append)
    assert [(each.done, each.messages) for each in reported] == [
        (0, 3), (1, 0), (1, 1), (2, 0), (2, 2), (3, 0),
    ]  # fmt: skip
    assert {each.total for each in reported} == {3}


@pytest.mark.soak(5)
def test_several_processes_give_the_same_figures(tmp_path):
    alone, together = (
        run(LargestPools(), TINY, tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2)
    )
    assert together.frame.equals(alone.frame)
    for file in alone.results.iterdir():
        assert (together.results / file.name).read_bytes() == file.read_bytes()


def test_there_is_at_least_one_process(small, tmp_path):
    with pytest.raises(ConfigurationError, match="jobs = 0"):
        run(small, QUICK, tmp_path, jobs=0)
