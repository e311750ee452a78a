"""Configurations: derived options, rejected options with messages, files and round trips."""

from __future__ import annotations

import json
import math
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from evenkey.cli import app
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import DynamicKeyGrouping, KeyGrouping
from evenkey.pipeline.aggregate.config import PipelineConfig

DATASET = "country-skew-r80"


def config(**options: object) -> PipelineConfig:
    return PipelineConfig(**{"dataset": DATASET, **options})


# --- defaults and derived options


def test_defaults_are_those_of_the_reference_but_cost_limit_and_aggregators() -> None:
    plain, reference = config(), config(reference_defaults=True)
    assert (plain.worker_window, plain.aggregator_window) == (15, 60)
    assert plain.resolved_grouping() == DynamicKeyGrouping()
    assert (plain.cost_ms, plain.time_limit, plain.aggregators) == (0, None, 4)
    assert (reference.cost_ms, reference.time_limit, reference.aggregators) == (1, 864_000, 10)
    assert reference.worker_window == plain.worker_window


def test_options_override_the_references_defaults() -> None:
    assert config(reference_defaults=True, cost_ms=0, aggregators=2).cost_ms == 0
    assert config(reference_defaults=True, time_limit=5).time_limit == 5


def test_sink_follows_the_output() -> None:
    assert config().sink == "memory"
    assert config(output="somewhere").sink == "parquet"
    assert config(output="somewhere", sink="jsonl").sink == "jsonl"


def test_changed_options_are_derived_again() -> None:
    kept = config(reference_defaults=True)
    assert kept.with_options(output="somewhere").sink == "parquet"
    assert kept.with_options(reference_defaults=False).cost_ms == 0
    assert kept.with_options(input="a.txt", dataset=None).input == (Path("a.txt"),)
    with pytest.raises(ConfigurationError, match="workers = 0"):
        kept.with_options(workers=0)


def test_overrides_reach_groupings_that_have_the_field() -> None:
    options: dict[str, Any] = {
        "expected_keys": 7,
        "warm_up": 1,
        "teenage_period": 2,
        "old_period": 8,
    }
    assert config(**options).resolved_grouping() == DynamicKeyGrouping(**options)
    assert config(grouping="kg", **options).resolved_grouping() == KeyGrouping()
    assert config(grouping="dkg(warm_up=3)", warm_up=4).resolved_grouping() == DynamicKeyGrouping(
        warm_up=4
    )


def test_spellings_are_shortened() -> None:
    spelled = config(
        dataset=" Country-Skew-R80", grouping="PKG( choices = 2 )", aggregator=" count"
    )
    assert (spelled.dataset, spelled.grouping, spelled.aggregator) == (DATASET, "pkg", "count")


@pytest.mark.parametrize(
    ("name", "split"),
    [("a.csv", "csv"), ("a.JSONL", "json"), ("a.ndjson", "json"), ("a.parquet", "parquet")],
)
def test_split_follows_the_suffix(tmp_path: Path, name: str, split: str) -> None:
    (tmp_path / name).write_text("x\n")
    for path in (tmp_path / name, tmp_path, tmp_path / "*"):
        assert PipelineConfig(input=path, key="user").resolved_split() == split


def test_files_without_a_known_suffix_are_lines(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    assert PipelineConfig(input=tmp_path).resolved_split() == "lines"
    assert PipelineConfig(input=tmp_path, split="words").resolved_split() == "words"


def test_the_cost_of_a_message_is_in_milliseconds_and_divided_by_the_speed() -> None:
    assert config().cost_seconds == 0.0
    assert config(cost_ms=3, speed=2).cost_seconds == pytest.approx(0.0015)


@pytest.mark.parametrize(
    ("options", "block"),
    [({}, 50), ({"epochs": 1000}, 1), ({"epoch_messages": 10**6}, 256), ({"epochs": 100}, 4)],
)
def test_small_epochs_have_small_blocks(options: dict[str, int], block: int) -> None:
    found = config(**options).block_positions(8050, sources=5)
    assert (found, type(found)) == (block, int)


# --- the short help


def test_help_shows_the_basic_options() -> None:
    program: Any = typer.main.get_command(app)
    shown = {each.name for each in program.commands["compare"].params if not each.hidden}
    assert shown & PipelineConfig.model_fields.keys() == {
        *("dataset", "input", "key", "count", "time"),
        *("workers", "aggregator", "aggregator_window", "master"),
        *("output", "kafka", "output_kafka"),
    }


# --- rejected options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers = 0: must be at least 1"),
        ({"workers": "0"}, "workers = '0': must be a whole number"),
        ({"workers": "many"}, "workers = 'many': must be a whole number"),
        ({"workers": 2.5}, "workers = 2.5: must be a whole number"),
        ({"workers": True}, "workers = true: must be a whole number"),
        ({"cost_ms": -1}, "cost_ms = -1: must be at least 0"),
        ({"cost_ms": math.inf}, "cost_ms = inf: must be a finite number"),
        ({"speed": 0}, "speed = 0: must be above 0"),
        ({"rate": "fast"}, "rate = 'fast': must be a number"),
        ({"seed": None}, "seed = None: must be a whole number"),
        (
            {"reference_defaults": "perhaps"},
            "reference_defaults = 'perhaps': must be true or false",
        ),
        ({"master": ""}, "master = '': must not be empty"),
        ({"output": ""}, "output = '': must not be empty"),
        ({"output": 3}, "output = 3: must be a path"),
        (
            {"load": "epochs"},
            "load = 'epochs': must be one of epoch, lifetime (did you mean 'epoch'?)",
        ),
        (
            {"worker": 3},
            "unknown option 'worker' (did you mean 'workers'?); there are: aggregator,",
        ),
        ({"grouping": "pgk"}, "unknown grouping 'pgk' (did you mean 'pkg'?); there are: "),
        ({"grouping": "pkg(choice=3)"}, "has no parameter 'choice' (did you mean 'choices'?)"),
        ({"grouping": "pkg("}, "grouping = 'pkg(' cannot be read: write name or"),
        ({"grouping": 3}, "grouping = 3: must be text"),
        ({"dataset": "country-skew"}, "unknown dataset 'country-skew'"),
        ({"aggregator": "median"}, "unknown aggregator 'median'"),
        (
            {"aggregator": "sum(column=amount)"},
            "aggregator = 'sum(column=amount)': messages have no column 'amount', only count",
        ),
        ({"aggregator": "n=count,n=count"}, "two results are named 'n'; rename one"),
        (
            {"aggregator": "n=count,N=count"},
            "aggregator = 'n=count,N=count': results have another column named 'n', regardless",
        ),
        ({"aggregator": "Key=count"}, "aggregator = 'Key=count': results have another column"),
        ({"aggregator": "epoch=count"}, "aggregator = 'epoch=count': results have another column"),
        ({"aggregator": "no_such_module:visits"}, "there is no module 'no_such_module'"),
        ({"teenage_period": 7}, "old_period = 60: must be a multiple of teenage_period = 7"),
        ({"aggregator_window": 50}, "aggregator_window = 50: must be a multiple of worker_window"),
        ({"worker_window": 90}, "aggregator_window = 60: must be a multiple of worker_window = 90"),
        ({"sink": "parquet"}, "sink = 'parquet': it writes files, but there is no output"),
        ({"input": "a.txt"}, "dataset and input are given, but a pipeline reads one"),
        ({"dataset": None}, "there is no input: pass dataset, input or kafka"),
        ({"split": "csv"}, "split = 'csv': it describes an input, but a dataset is read"),
        (
            {"dataset": None, "input": ["a"], "split": "json"},
            "split = 'json': it needs the option key",
        ),
        (
            {"dataset": None, "input": "a", "split": "words", "count": "n"},
            "count = 'n': only csv, json, parquet have columns, and split is 'words'",
        ),
    ],
)
def test_bad_options_are_rejected_with_field_value_and_fix(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        config(**options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_bad_option_is_reported() -> None:
    with pytest.raises(ConfigurationError) as raised:
        config(workers=0, sources=0)
    assert len(str(raised.value).splitlines()) == 2


def test_a_configuration_cannot_be_changed() -> None:
    made = config()
    with pytest.raises(ValueError, match="frozen"):
        made.workers = 3


# --- files


def test_file_and_options_are_equivalent(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text('dataset = "uniform(keys=5)"\nworkers = 3\ncost-ms = 2\nepoch_messages = 9\n')
    read = PipelineConfig.read(file)
    assert read == PipelineConfig(dataset="uniform(keys=5)", workers=3, cost_ms=2, epoch_messages=9)


def test_given_options_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(f'dataset = "{DATASET}"\nworkers = 3\nsources = 2\n')
    read = PipelineConfig.read(file, workers="4", sources=None)
    assert (read.workers, read.sources) == (4, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workers = \n", "is not TOML: Invalid value (at line 1, column 11)"),
        ("worker = 3\n", "pipeline.toml: unknown option 'worker' (did you mean 'workers'?)"),
        ("workers = 0\n", "pipeline.toml: workers = 0: must be at least 1"),
        ("workers = true\n", "workers = true: must be a whole number"),
        ("cost-ms = 1\ncost_ms = 2\n", "cost_ms is given twice"),
        ("[run]\nworkers = 3\n", "unknown option 'run'"),
    ],
)
def test_bad_files_are_rejected_by_name(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        PipelineConfig.read(file, dataset=DATASET)
    assert message in str(raised.value)
    assert str(file) in str(raised.value) or "true" in text


def test_a_file_is_not_blamed_for_an_option(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text("workers = 3\n")
    with pytest.raises(ConfigurationError) as raised:
        PipelineConfig.read(file, dataset=DATASET, workers=0)
    assert str(raised.value) == "workers = 0: must be at least 1"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_unreadable_files_are_rejected_by_name(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "pipeline.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=str(file)):
        PipelineConfig.read(file)


# --- paths


@pytest.mark.parametrize("name", ["missing.txt", "empty.txt", "nothing", "*.csv"])
def test_missing_and_empty_inputs_are_rejected_early(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ConfigurationError, match=f"input .*{name.strip('*')}"):
        PipelineConfig(input=tmp_path / name).check_paths()


def test_inputs_of_several_formats_need_a_split(tmp_path: Path) -> None:
    for name in ("a.csv", "a.txt"):
        (tmp_path / name).write_text("x\n")
    with pytest.raises(ConfigurationError, match="pass split"):
        PipelineConfig(input=tmp_path).check_paths()
    PipelineConfig(input=tmp_path, split="words").check_paths()


def test_a_suffix_that_needs_a_key_is_checked_early(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user\nx\n")
    with pytest.raises(ConfigurationError, match="needs the option key"):
        PipelineConfig(input=tmp_path).check_paths()


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_an_output_that_cannot_be_a_directory_is_rejected_early(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=f"{tmp_path / 'file'} is a file"):
        config(output=tmp_path / name).check_paths()


@pytest.mark.parametrize(
    ("input_path", "output"),
    [("in", "in"), ("in", "in/out"), ("in/*", "in/part/out"), ("in/part/..", "in/out")],
)
def test_an_output_within_the_input_is_rejected_early(
    tmp_path: Path, input_path: str, output: str
) -> None:
    (tmp_path / "in" / "part").mkdir(parents=True)
    (tmp_path / "in" / "part" / "a.txt").write_text("x\n")
    with pytest.raises(ConfigurationError, match=f"in/?.* is inside the input {tmp_path}/in"):
        PipelineConfig(input=f"{tmp_path}/{input_path}", output=tmp_path / output).check_paths()
    beside = PipelineConfig(input=f"{tmp_path}/{input_path}", output=tmp_path / "in2" / "out")
    beside.check_paths()


def test_paths_without_permission_are_rejected_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    # Tests may run as the superuser, who has every permission.
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & (os.R_OK | os.W_OK))
    with pytest.raises(ConfigurationError, match=r"a\.txt cannot be read"):
        PipelineConfig(input=tmp_path / "a.txt").check_paths()
    with pytest.raises(ConfigurationError, match="below cannot be written"):
        config(output=tmp_path / "below").check_paths()


def test_checking_paths_creates_nothing(tmp_path: Path) -> None:
    config(output=tmp_path / "a" / "b").check_paths()
    assert list(tmp_path.iterdir()) == []


# --- options that may change when a run continues


def test_layouts_may_change_and_pinned_options_may_not() -> None:
    made = config(grouping="pkg", workers=3, output="out")
    assert made.layout() == {
        "grouping": "pkg",
        "workers": 3,
        "sources": 5,
        "splitters": None,
        "load": "epoch",
        **dict.fromkeys(("expected_keys", "warm_up", "teenage_period", "old_period")),
    }
    assert made.layout().keys() < made.free()
    assert made.pinned().keys() == {"aggregators"}
    by_workers = made.with_options(aggregator="heavy-hitters(k=3)")
    assert by_workers.free() & made.layout().keys() == {"sources", "splitters", "load"}


def test_master_output_and_time_limit_may_change() -> None:
    made = config(output="out", time_limit=5, master="local[2]", cost_ms=1)
    changed = {"time_limit", "master", "cost_ms", "speed", "export", "kafka_config", "output"}
    assert changed <= made.free()
    results = {"dataset", "key", "aggregator", "aggregator_window", "epochs", "sink", "seed"}
    assert not results & made.free()


# --- round trips


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "grouping": st.sampled_from(["sg", "kg", "pkg(choices=3)", "dkg(variant=reference)"]),
            "workers": st.integers(1, 1000),
            "cost_ms": st.floats(0, 1e6),
            "time_limit": st.none() | st.floats(0.1, 1e6),
            "reference_defaults": st.booleans(),
            "output": st.none() | st.just("some/where"),
            "load": st.sampled_from(["epoch", "lifetime"]),
        },
    )
)
def test_a_configuration_survives_its_manifest_and_pickle(options: dict[str, object]) -> None:
    made = config(**options)
    manifest = json.loads(json.dumps(made.manifest()))
    assert PipelineConfig(**manifest).manifest() == manifest
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.with_options() == made


def test_a_manifest_does_not_depend_on_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = PipelineConfig(input="a.txt", output="b").manifest()
    assert here == PipelineConfig(input=tmp_path / "a.txt", output=tmp_path / "b").manifest()
