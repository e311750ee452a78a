"""A finished run that is started again must have the same input and options."""

from __future__ import annotations

import os
from typing import Any

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.aggregate import AggregateJob, PipelineConfig
from evenkey.pipeline.runs import EpochProgress, run
from evenkey.pipeline.runs.input.input_files import check_same_input, digested
from evenkey.pipeline.runs.output.directory import RunDirectory


@pytest.fixture
def given(tmp_path):
    """Return the options of a run that, according to its directory, is finished."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("user\nx\n")
    (tmp_path / "in" / "b.csv").write_text("user\ny\n")
    config = PipelineConfig(
        input=str(tmp_path / "in"), key="user", output=str(tmp_path / "out"), workers=8
    )
    job = AggregateJob(config)
    with (
        RunDirectory.opened(config.output) as directory,
        digested(job.input_files()) as keep,
    ):
        keep(directory)
        directory.begin(config.manifest())
        directory.lay_out(config.layout())
        directory.finish({"figures": "of the run"})
    return config


def refusal(config):
    with pytest.raises(ConfigurationError) as caught:
        run(AggregateJob(config))
    (line,) = str(caught.value).splitlines()
    return line


def test_files_with_the_same_content_count_as_unchanged(given):
    file = given.input[0] / "a.csv"
    content = file.read_text()
    files = AggregateJob(given).input_files()
    check_same_input(RunDirectory(given.output).store, files)
    file.write_text(content)
    os.utime(file, (1, 1))
    check_same_input(RunDirectory(given.output).store, files)


@pytest.mark.parametrize("content", ["user\nz\n", "user\nx\nx\n"])
def test_a_file_that_changed_is_named(given, content):
    file = given.input[0] / "a.csv"
    file.write_text(content)
    os.utime(file, (1, 1))
    assert f"input {file} has changed since that run began: restore the input" in refusal(given)


def test_a_file_that_is_new_or_gone_is_named(given):
    new, gone = given.input[0] / "c.csv", given.input[0] / "b.csv"
    new.write_text("user\n")
    assert f"input {new} was not read by that run" in refusal(given)
    new.unlink()
    gone.unlink()
    assert f"input {gone} is gone since that run began" in refusal(given)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"workers": 3}, "(workers was 8 and is now 3)"),
        ({"grouping": "pkg"}, "(grouping was 'dkg' and is now 'pkg')"),
        ({"sources": 2, "workers": 3}, "(sources was 5 and is now 2; workers was 8 and is now 3)"),
    ],
)
def test_an_option_that_differs_is_named(given, options, named):
    line = refusal(given.with_options(**options))
    assert f"holds a finished run {named}: choose another output, or repeat its options" in line


def test_every_option_that_differs_is_named_beside_one_that_may_not(given):
    line = refusal(given.with_options(workers=3, cost_ms=2.0, time_limit=9.0))
    assert (
        "(cost_ms was 0.0 and is now 2.0; time_limit was None and is now 9.0; workers was 8 and is "
        "now 3)"
    ) in line
    line = refusal(given.with_options(epochs=3, workers=3, cost_ms=2.0))
    assert (
        "holds another run (epochs was 8 and is now 3; also cost_ms was 0.0 and is now 2.0, "
        "workers was 8 and is now 3)"
    ) in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"cost_ms": 2.0}, [": cost_ms was 0.0 and is now 2.0"]),
        (
            {"master": "local[2]", "speed": 3.0},
            [": master was None and is now 'local[2]'; speed was 1.0 and is now 3.0"],
        ),
    ],
)
def test_a_finished_run_reports_the_options_that_have_no_effect(given, monkeypatch, options, said):
    report: Any = object()
    monkeypatch.setattr(AggregateJob, "restored", lambda *_: report)
    seen: list[EpochProgress] = []
    job = AggregateJob(given.with_options(**options))
    assert run(job, on_progress=seen.append) is report
    assert [each.detail for each in seen] == said
    assert {each.phase for each in seen} <= {"already finished"}


def test_a_run_that_continues_reports_the_options_that_changed(tmp_path, monkeypatch):
    config = PipelineConfig(dataset="uniform(keys=5)", output=tmp_path, workers=8)
    with RunDirectory.opened(tmp_path) as directory:
        directory.begin(config.manifest())
    monkeypatch.setattr(AggregateJob, "session", lambda _: pytest.fail("Spark would start here"))
    seen: list[EpochProgress] = []
    with pytest.raises(pytest.fail.Exception, match="Spark would start here"):
        run(AggregateJob(config.with_options(workers=3, sources=2)), on_progress=seen.append)
    assert [(each.phase, each.detail) for each in seen] == [
        ("continuing", ": sources was 5 and is now 2; workers was 8 and is now 3"),
        ("finding the input", ""),
        ("starting Spark", ""),
    ]


def test_the_last_layout_of_a_run_counts(given):
    with RunDirectory.opened(given.output) as directory:
        directory.lay_out(given.with_options(workers=3).layout())
    assert "(workers was 3 and is now 8)" in refusal(given)
