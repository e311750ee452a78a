"""A finished run that is started again must have the same input and options."""

from __future__ import annotations

import os

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.aggregate import AggregateJob, PipelineConfig
from evenkey.pipeline.runs import run
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


def test_the_last_layout_of_a_run_counts(given):
    with RunDirectory.opened(given.output) as directory:
        directory.lay_out(given.with_options(workers=3).layout())
    assert "(workers was 3 and is now 8)" in refusal(given)
