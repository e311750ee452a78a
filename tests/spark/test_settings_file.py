"""Settings go to Spark's Java in a file of the user's own, not as arguments of a process."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark import java_gateway as pysparks

from evenkey.spark.sessions import java_process

SECRETS = {
    "spark.hadoop.fs.azure.sas.lab.account.dfs.core.windows.net": "?sv=1&sig=a secret",
    "spark.executorEnv.DATABASE_URL": "jdbc:x://h/d?user=me&password=a secret#!:=\\",
    "spark.sql.catalog.c.url": " leading, é, 😀 and\nline ends\ttabs ",
    "spark.a:b=c d": "x",
}


class StartedError(Exception):
    """Raised where Java would start."""


@pytest.fixture
def start(monkeypatch):
    """Return a function that starts Java up to its command: what it gets, and the file it reads."""
    seen: dict[str, Any] = {}

    def launch(conf, popen):
        arguments = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
        file = Path(arguments[arguments.index("--properties-file") + 1])
        mode = stat.S_IMODE(file.stat().st_mode)
        seen.update(conf=conf, arguments=arguments, file=file, mode=mode, content=file.read_bytes())
        os.close(popen["stderr"])
        raise StartedError

    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(pysparks, "launch_gateway", launch)

    def started(settings):
        with pytest.raises(StartedError):
            java_process.start_java(settings)
        return seen

    return started


def test_settings_are_in_a_file_that_only_the_user_can_read(start):
    seen = start({"spark.master": "local[1]", **SECRETS})
    assert seen["conf"] is None
    assert "secret" not in " ".join(seen["arguments"])
    assert seen["arguments"][0] == "--load-spark-defaults"
    assert seen["arguments"][-1] == "pyspark-shell"
    assert seen["mode"] == 0o600
    assert b"spark.master=local" in seen["content"]
    assert not seen["file"].exists()
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ


def test_arguments_of_the_environment_stay(start, monkeypatch):
    given = "--conf 'spark.x=a b' --packages p pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", given)
    assert start(SECRETS)["arguments"][3:] == shlex.split(given)
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == given


def test_a_file_that_the_environment_names_is_read_first(start, monkeypatch, tmp_path):
    theirs = tmp_path / "their file"
    theirs.write_text("spark.x 1")
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS", f"--properties-file '{theirs}' --name n pyspark-shell"
    )
    seen = start({"spark.y": "2"})
    assert seen["content"] == b"spark.x 1\nspark.y=2\n"
    assert seen["arguments"][2:] == ["--name", "n", "pyspark-shell"]


@pytest.mark.classic("the driver's own Java")
def test_java_reads_what_was_written(spark, start):
    """Java's own reader of properties files is asked."""
    java = spark.sparkContext._jvm.java
    properties = java.util.Properties()
    properties.load(java.io.ByteArrayInputStream(start(SECRETS)["content"]))
    assert {name: properties.getProperty(name) for name in SECRETS} == SECRETS
    assert properties.size() == len(SECRETS)
