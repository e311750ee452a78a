"""Spark's Java process: quiet, and named when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from evenkey.errors import RunError
from evenkey.spark import gateway

START = """
import sys
from evenkey.spark.session import session
spark = session("local[1]")
print("java said:", file=sys.stderr, flush=True)
spark.sparkContext._jvm.System.err.println("a line of its own")
spark.stop()
"""


def start(**environment):
    return subprocess.run(
        [sys.executable, "-c", START],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_start_is_silent_and_other_lines_come_through():
    done = start()
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["java said:", "a line of its own"]


def test_all_is_shown_where_it_is_asked_for():
    done = start(EVENKEY_SPARK_LOG="INFO")
    assert done.returncode == 0, done.stderr
    assert "Setting default log level to" in done.stderr
    assert " INFO " in done.stderr


def test_a_java_that_does_not_start_is_one_line():
    done = start(SPARK_DRIVER_MEMORY="1")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "evenkey.errors.RunError: Spark's Java process ended before it was ready"
    )
    assert "EVENKEY_SPARK_LOG=INFO shows all that it says" in last


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sh", "-c", "kill -KILL $$"], "killed by SIGKILL, perhaps by the system"),
        (["sh", "-c", "kill -TERM $$"], "killed by SIGTERM): "),
        (["sh", "-c", "exit 52"], "(out of memory): give the same command again"),
        (["sh", "-c", "exit 1"], "(exit code 1)"),
    ],
)
def test_a_dead_java_is_named_with_its_end_and_the_mend(monkeypatch, command, said):
    class Gateway:
        proc = subprocess.Popen(command)

    monkeypatch.setattr(SparkContext, "_gateway", Gateway)
    with pytest.raises(RunError) as raised, gateway.java_deaths_named():
        raise Py4JNetworkError
    assert said in str(raised.value)
    assert "SPARK_DRIVER_MEMORY=4g" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_error_of_a_living_java_stays_what_it_was(monkeypatch):
    class Gateway:
        proc = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    monkeypatch.setattr(SparkContext, "_gateway", Gateway)
    try:
        with pytest.raises(KeyError), gateway.java_deaths_named():
            raise KeyError
    finally:
        Gateway.proc.send_signal(signal.SIGKILL)
        Gateway.proc.wait()


def test_the_level_of_the_log_is_error_or_what_is_asked_for():
    assert gateway.log_level({}) == "ERROR"
    assert gateway.log_level({"EVENKEY_SPARK_LOG": "info"}) == "INFO"
    assert gateway.log_level({"EVENKEY_SPARK_LOG": "1"}) == "ERROR"
