"""Wrong commands print one line with the cause and the fix, exit with 2, and start no Java."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.core.context
import pyspark.java_gateway
import pytest

from evenkey.kafka import connector
from tests.tiers import most_in_soak

TABLE = Path(__file__).with_name("wrong_commands.txt")
STREAM = "--dataset country-skew-r80"

FILES: dict[str, str | bytes] = {
    "messages.csv": "user,n\nx,1\ny,2\n",
    "events.jsonl": '{"user": "x", "n": 1}\n',
    "text.txt": "to be or not\n",
    "empty.csv": "",
    "header.csv": "user,n\n",
    "binary.csv": b"\x00\x01user,n\nx,1\n",
    "noise.csv": b"a\x1cb\rc\nd",
    "filled/notes.txt": "mine\n",
    "latin.csv": "us\xe9r,n\nx,1\n".encode("latin-1"),
    "mixed/a.csv": "u\n1\n",
    "mixed/b.txt": "u\n1\n",
    "not.parquet": "no parquet\n",
    "broken.txt.gz": b"\x1f\x8bno gzip",
    "polygons.geojson": "{}",
    "collisions.csv": "a,b\n1,2\n",
    "kafka.properties": "no sign here\n",
    "own.properties": "bootstrap.servers=x\n",
    "bad.avsc": "{",
    "int.avsc": '"int"',
    "record.avsc": '{"type": "record", "name": "click", "fields": []}',
    "bad.toml": "workers = = 3\n",
    "binary.toml": b"\xff\xfe\x00",
    "empty.toml": "",
    "twice.toml": "cost-ms = 1\ncost_ms = 2\n",
    "table.toml": "[run]\nworkers = 1\n",
    "table2.toml": '[dataset]\nname = "x"\n',
    "number.toml": "dataset = 3\n",
    "list1.toml": "input = [1]\n",
    "input2.toml": "input = {a = 1}\n",
    "windows.toml": 'period = "10 seconds"\n',
    "features.toml": 'application = "naive-bayes"\nfeatures = [["a"]]\n',
    "other/state/manifest.json": '{"grouping": "sg"}',
    "compared/pkg/state/manifest.json": '{"grouping": "sg"}',
    "joined/state/manifest.json": '{"mode": "static-strl"}',
}
OPTIONS = {  # invalid option files of a stream, by their mistake
    "unknown": "workerz = 2",
    "types": 'workers = "four"',
    "float": "workers = 2.5",
    "truth": "workers = true",
    "list": "workers = [1, 2]",
    "nan": "rate = nan",
    "date": "seed = 2020-01-01",
    "boolean": 'reference_defaults = "perhaps"',
    "grouping": "grouping = 3",
    "export": "export = [1]",
    "epochs": "epochs = -1",
    "sink": 'sink = ["parquet"]',
}


class Case(NamedTuple):
    """A command, and the texts that its error line must contain."""

    command: str
    thing: str
    fix: str

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command.replace("STREAM", STREAM))


def _read_cases() -> list[Case]:
    lines = TABLE.read_text("utf-8").splitlines()
    return [Case(*line.split(" => ")) for line in lines if line and not line.startswith("#")]


CASES = _read_cases()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Make a directory with the files that the commands name."""
    top = tmp_path_factory.mktemp("wrong")
    written = {f"{name}.toml": f'dataset = "uniform"\n{text}\n' for name, text in OPTIONS.items()}
    for name, content in {**FILES, **written}.items():
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    (top / "folder").mkdir()
    (top / "parq").mkdir()
    (top / "loop.csv").symlink_to("loop.csv")
    rows = pa.table({"user": ["a"], "n": [1]})
    pq.write_table(rows, top / "rows.parquet")
    pq.write_table(rows, top / "parq" / "rows.parquet")
    return top


@pytest.fixture
def no_java(monkeypatch, directory):
    """Make a command exit with 1 if it starts Java or looks for it."""

    def refuse(*_arguments, **_options):
        message = "the command tried to start Java"
        raise AssertionError(message)

    monkeypatch.chdir(directory)
    monkeypatch.setattr("evenkey.spark.sessions.java_home.subprocess.run", refuse)
    monkeypatch.setattr(pyspark.core.context, "launch_gateway", refuse)
    monkeypatch.setattr(pyspark.java_gateway, "launch_gateway", refuse)


def check(case, exit_code, output, errors):
    lines = errors.splitlines()
    assert exit_code == 2, errors
    assert output == ""
    assert len(lines) == 1, errors
    assert lines[0].startswith("error: ")
    assert case.thing in lines[0]
    assert case.fix in lines[0]


def test_the_table_is_long_enough_and_has_no_duplicates():
    assert len(CASES) >= 200
    assert len({each.command for each in CASES}) == len(CASES)


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("case", CASES, ids=[each.command for each in CASES])
def test_a_wrong_command_prints_one_line_and_exits_with_2(invoke, case):
    ended = invoke(*case.arguments)
    check(case, ended.exit_code, ended.stdout, ended.stderr)


ENVIRONMENTS = [
    ({"SPARK_MASTER": "nonsense"}, f"run {STREAM}", "SPARK_MASTER = 'nonsense'", "spark://HOST"),
    ({"SPARK_MASTER": "local[0]"}, "join run", "SPARK_MASTER = 'local[0]'", "local[N]"),
    (
        {"EVENKEY_KAFKA_JARS": "folder"},
        "run --kafka 127.0.0.1:9/clicks",
        "EVENKEY_KAFKA_JARS = 'folder'",
        "make setup-kafka",
    ),
    (
        {"EVENKEY_KAFKA_JARS": ""},
        "run --kafka 127.0.0.1:9/clicks",
        "Spark has no Kafka connector",
        "make setup-kafka",
    ),
    (
        {"EVENKEY_KAFKA_JARS": ""},
        "join run --output-kafka 127.0.0.1:9/matches",
        "Spark has no Kafka connector",
        "EVENKEY_KAFKA_JARS",
    ),
]


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(("environment", "command", "thing", "fix"), ENVIRONMENTS)
def test_a_wrong_environment_prints_one_line_and_exits_with_2(
    invoke, monkeypatch, directory, environment, command, thing, fix
):
    # Kafka's connector is not installed, and no session runs.
    monkeypatch.setattr(connector, "_CHECKOUT", directory)
    monkeypatch.setattr(connector, "_session_runs", lambda: False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ended = invoke(*shlex.split(command))
    check(Case(command, thing, fix), ended.exit_code, ended.stdout, ended.stderr)


PROCESSES = [
    "run",
    "run STREAM --master local[x]",
    "run --input rows.parquet --key usr",
    "run --application decision-tree --input messages.csv --label user --features age",
    "run --kafka 127.0.0.1:99999/clicks",
    "run --config bad.toml",
    "compare STREAM --groupings kg,pkg --output compared",
    "simulate --input messages.csv --key usr",
    "advise messages.csv --key usr",
    "join run --input parq",
    "dashboard --run messages.csv",
    "dataset write nothing out.csv",
    "experiment run nothing",
]


@pytest.mark.slow(1)
@pytest.mark.parametrize("command", most_in_soak(PROCESSES, 1, slow=PROCESSES[::3]))
def test_a_wrong_command_in_its_own_process(directory, tmp_path, command):
    (case,) = (each for each in CASES if each.command == command)
    started = tmp_path / "started"
    java_home = tmp_path / "java"
    (java_home / "bin").mkdir(parents=True)
    launcher = java_home / "bin" / "java"
    launcher.write_text(f"#!/bin/sh\ntouch {started}\nexit 1\n")
    launcher.chmod(0o755)
    environment = {**os.environ, "JAVA_HOME": str(java_home), "PATH": str(java_home / "bin")}
    environment.pop("SPARK_MASTER", None)
    ended = subprocess.run(
        [Path(sys.executable).with_name("evenkey"), *case.arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    check(case, ended.returncode, ended.stdout, ended.stderr)
    assert not started.exists()
