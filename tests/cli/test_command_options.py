"""Options, keys of configuration files and fields are the same list."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer

from evenkey.applications import ApplicationConfig
from evenkey.cli import app
from evenkey.cli.command_options import option_name
from evenkey.kafka import Address
from evenkey.pipeline.aggregate import PipelineConfig

OWN = {"--config", "--json", "--debug", "--help", "--help-all"}
FIELDS = ApplicationConfig.model_fields

# A value for each field that differs from its default.
VALUES = {
    "dataset": "uniform(keys=5)",
    "input": ["a.csv", "b.csv"],
    "split": "csv",
    "key": "user",
    "count": "n",
    "time": "when",
    "types": "amount double",
    "messages": 7,
    "seed": 3,
    "rate": 2.5,
    "arrival_rate": 7.5,
    "grouping": "pkg(choices=3)",
    "workers": 3,
    "sources": 2,
    "splitters": 4,
    "load": "lifetime",
    "route_by": "weights",
    "observe_by": "weights",
    "expected_keys": 9,
    "warm_up": 1.0,
    "teenage_period": 2.0,
    "old_period": 30.0,
    "aggregator": "top-k(k=3)",
    "aggregators": 2,
    "worker_window": 5.0,
    "aggregator_window": 30.0,
    "lateness": 5.0,
    "max_ahead": 60.0,
    "cost_ms": 0.5,
    "speed": 2.0,
    "epochs": 3,
    "epoch_messages": 11,
    "time_limit": 60.0,
    "master": "local[3]",
    "reference_defaults": True,
    "output": "somewhere",
    "sink": "console",
    "export": ["parquet:metrics", "prometheus://127.0.0.1:9108"],
    "kafka": "127.0.0.1:9092/a,b",
    "starting_offsets": "latest",
    "record_part": "key",
    "isolation": "read_uncommitted",
    "avro_schema": "click.avsc",
    "follow": True,
    "output_kafka": "127.0.0.1:9092/out",
    "dead_letters_topic": "bad",
    "kafka_config": "kafka.properties",
    "application": "wordcount",
    "label": "folder",
    "text": "body",
    "features": ["x", "y"],
}
INPUT = {"input", "split", "key", "count", "time"}
LEARNING = {"label", "text", "features"}
TOPICS = {
    "kafka",
    "starting_offsets",
    "record_part",
    "isolation",
    "avro_schema",
    "follow",
    "max_ahead",
}


def context_of(field: str) -> dict[str, object]:
    """Return the other options without which a field is rejected."""
    if field in INPUT:
        return {each: VALUES[each] for each in ("input", "split", "key") if each != field}
    if field == "types":
        return {**context_of("time"), "aggregator": "sum(column=amount)"}
    if field in TOPICS:
        return {each: VALUES[each] for each in ("kafka",) if each != field}
    if field in LEARNING:
        return {"application": "naive-bayes"}
    if field == "dead_letters_topic":
        return {"dataset": "country-skew-r80", "output_kafka": VALUES["output_kafka"]}
    return {} if field == "dataset" else {"dataset": "country-skew-r80"}


def arguments_of(options: dict[str, object]) -> list[str]:
    arguments = []
    for name, value in options.items():
        if value is True:
            arguments.append(option_name(name))
            continue
        for each in value if isinstance(value, list) else [value]:
            arguments += [option_name(name), str(each)]
    return arguments


def options_of(command: str) -> dict[str, str]:
    """Return the help of each long option of a command."""
    parsed: Any = typer.main.get_command(app)
    params = parsed.commands[command].params
    return {max(each.opts, key=len): each.help for each in params}


def test_every_field_has_a_value_to_test_with():
    assert VALUES.keys() == FIELDS.keys()
    assert all(value != FIELDS[name].default for name, value in VALUES.items())


def test_run_has_an_option_for_each_field():
    assert options_of("run").keys() - OWN == {option_name(each) for each in FIELDS}


def test_help_shows_basic_options_and_help_all_shows_all(invoke):
    brief, whole = (invoke("run", flag).stdout for flag in ("--help", "--help-all"))
    assert "--key" in brief
    assert "--teenage-period" not in brief
    assert "Example: evenkey run --input" in brief
    assert all(option_name(each) in whole for each in FIELDS if len(each) < 15)


def test_compare_has_the_same_options_with_groupings_for_grouping():
    fields = PipelineConfig.model_fields
    expected = {option_name(each) for each in fields} - {"--grouping"} | {"--groupings"}
    assert options_of("compare").keys() - OWN == expected


@pytest.mark.parametrize("field", FIELDS)
def test_help_is_the_description_of_the_field(field):
    assert options_of("run")[option_name(field)].startswith(str(FIELDS[field].description))


@pytest.mark.slow(0.1)
@pytest.mark.parametrize("field", FIELDS)
def test_option_and_key_mean_the_same(invoke, pipeline, tmp_path, monkeypatch, field):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("user,n\nx,1\n")
    (tmp_path / "kafka.properties").touch()
    (tmp_path / "click.avsc").write_text('{"type": "record"}')
    # No broker runs here.
    monkeypatch.setattr(Address, "check_reachable", lambda _: None)
    options = {**context_of(field), field: VALUES[field]}
    file = tmp_path / "pipeline.toml"
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items()))
    for arguments in (arguments_of(options), ["--config", file]):
        outcome = invoke("run", *arguments)
        assert outcome.exit_code == 0, outcome.stderr
    from_options, from_file = pipeline.configs
    assert from_options == from_file == ApplicationConfig(**options)
    assert getattr(from_file, field) != FIELDS[field].default


def test_options_override_the_file(invoke, pipeline, tmp_path):
    file = tmp_path / "pipeline.toml"
    file.write_text('dataset = "country-skew-r80"\nworkers = 3\nreference-defaults = true\n')
    assert invoke("run", "--config", file).exit_code == 0
    outcome = invoke("run", "--config", file, "--workers", 4, "--no-reference-defaults")
    assert outcome.exit_code == 0
    assert [each.workers for each in pipeline.configs] == [3, 4]
    assert [each.cost_ms for each in pipeline.configs] == [1, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "0"], "error: workers = 0: must be at least 1\n"),
        (["--workers", "ten"], "error: workers = 'ten': must be a whole number\n"),
        (["--split", "wrods"], "(did you mean 'words'?)"),
        (["--grouping", "pgk"], "error: unknown grouping 'pgk' (did you mean 'pkg'?)"),
        (["--grouping", "pkg(k=1)"], "grouping 'pkg' has no parameter 'k'"),
        (["--output", "/dev/null/below"], "error: output /dev/null/below cannot be a directory"),
        (["--config", "/missing.toml"], "error: config /missing.toml cannot be read"),
    ],
)
@pytest.mark.usefixtures("pipeline")
def test_bad_values_exit_with_2_and_one_line(invoke, arguments, message):
    outcome = invoke("run", "--dataset", "country-skew-r80", *arguments, "--json")
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
