"""Spark's Java process: it starts silently, and errors name it when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import chain, zip_longest

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from evenkey.core.errors import RunError
from evenkey.spark.sessions import java_process as gateway

START = """
import os, subprocess, sys
from pyspark.errors import PythonException
from evenkey.spark.sessions.starting import session

def fail(batches):
    raise ValueError("on purpose")

secret = "-".join(("a", "secret"))  # not on this program's own command line
names = (
    "spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.azure.sas.lab.account",
    "spark.executorEnv.DATABASE_URL",
)
memory = os.environ.get("SPARK_DRIVER_MEMORY", "777m")
spark = session("local[1]", {**dict.fromkeys(names, secret), "spark.driver.memory": memory})
settled = all(spark.sparkContext.getConf().get(each) == secret for each in names)
settled &= spark.sparkContext._jvm.Runtime.getRuntime().maxMemory() < 1 << 30
listed = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True).stdout
try:
    spark.range(1).mapInArrow(fail, "id long").count()
except PythonException as error:
    print(settled, secret in listed, "on purpose" in str(error))
print("java said:", file=sys.stderr, flush=True)
spark.sparkContext._jvm.System.err.println("a line of its own")
spark.stop()
"""


SHOWN = """
from evenkey.spark.sessions.starting import session

session("local[1]").stop()
"""

FAILING_QUERY = """
import sys
from itertools import chain, zip_longest
from pyspark.errors import StreamingQueryException
from evenkey.spark.sessions.java_process import ending_unlogged
from evenkey.spark.sessions.starting import session

def fail(rows, epoch):
    raise ValueError("on purpose")

spark = session("local[1]")
for block in (ending_unlogged, None):
    query = spark.readStream.format("rate").load().writeStream.foreachBatch(fail).start()
    try:
        if block is None:
            query.awaitTermination()
        else:
            with block(query):
                query.awaitTermination()
    except StreamingQueryException as error:
        print("raised:", "on purpose" in str(error), file=sys.stderr, flush=True)
spark.stop()
"""

LIMITED = """
import numpy as np
import pandas as pd
from evenkey.spark.sessions.starting import session

def many(frames):
    for _ in frames:
        for _ in range(200):
            yield pd.DataFrame({"id": np.arange(100_000)})

spark = session("local[2]", {"spark.sql.execution.arrow.maxRecordsPerBatch": "100000"})
for _ in range(3):
    assert spark.range(0, 8, 1, 2).mapInPandas(many, "id long").limit(5).count() == 5
spark.stop()
"""

KILLED = """
from pyspark import SparkContext
from evenkey.core.errors import RunError
from evenkey.spark.sessions.java_process import java_deaths_named
from evenkey.spark.sessions.starting import session

def initialize(context, settings):
    SparkContext._gateway.proc.kill()
    SparkContext._gateway.proc.wait()
    return initialize_context(context, settings)

initialize_context, SparkContext._initialize_context = SparkContext._initialize_context, initialize
try:
    with java_deaths_named():
        session("local[1]")
except RunError as error:
    print(error)
"""

STOPPED = """
import contextlib, threading
from evenkey.core.errors import RunError
from evenkey.spark.sessions.java_process import java_deaths_named
from evenkey.spark.sessions.starting import session

def end():
    with contextlib.suppress(Exception):
        java.System.exit(52)

spark = session("local[1]")
java = spark.sparkContext._jvm
try:
    with java_deaths_named():
        spark.sparkContext._jsc.sc().stop()
        threading.Timer(1, end).start()
        spark.range(1).count()
except RunError as error:
    print(error)
"""

_DIES_LATE = "import os, time; time.sleep(1); os.kill(os.getpid(), 9)"


def start(program=START, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow(4)
@pytest.mark.classic("what the driver's own Java says")
def test_a_start_and_a_task_that_fails_are_silent_and_other_lines_come_through():
    """The command line of the process, which all users can read, contains no secret settings."""
    done = start()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True False True\n"
    assert done.stderr.splitlines() == ["java said:", "a line of its own"]


@pytest.mark.slow(4)
@pytest.mark.classic("what the driver's own Java says")
def test_tasks_whose_rows_are_not_all_wanted_are_silent():
    done = start(LIMITED)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow(4)
@pytest.mark.classic("what the driver's own Java says")
def test_all_is_shown_where_it_is_asked_for():
    done = start(SHOWN, EVENKEY_SPARK_LOG="INFO")
    assert done.returncode == 0, done.stderr
    assert "Setting default log level to" in done.stderr
    assert " INFO " in done.stderr


@pytest.mark.slow(4)
@pytest.mark.classic("what the driver's own Java says")
def test_a_java_that_does_not_start_is_one_line():
    done = start(SPARK_DRIVER_MEMORY="1")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "evenkey.core.errors.RunError: Spark's Java process ended before it was ready"
    )
    assert "EVENKEY_SPARK_LOG=INFO shows its output" in last


@pytest.mark.slow(4)
@pytest.mark.classic("what the driver's own Java says")
@pytest.mark.parametrize(
    ("program", "cause"), [(KILLED, "(killed by SIGKILL"), (STOPPED, "(out of memory)")]
)
def test_a_java_that_dies_is_one_line(program, cause):
    """It is killed before the session has started; or it stops Spark, and ends a second later.

    In the second way it ends for lack of memory. A query then raises any error, not the cause.
    """
    done = start(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Spark's Java process has died {cause}")


@pytest.mark.slow(4)
@pytest.mark.classic("what the driver's own Java says")
def test_an_error_that_ends_a_query_is_raised_and_not_logged_too():
    done = start(FAILING_QUERY)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stderr.splitlines()
    assert first == "raised: True"
    # Errors of other queries are still logged.
    assert any("terminated with error" in line for line in rest)
    assert rest[-1] == "raised: True"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sh", "-c", "kill -KILL $$"], "killed by SIGKILL, perhaps by the system"),
        (["sh", "-c", "kill -TERM $$"], "killed by SIGTERM): "),
        (["sh", "-c", "exit 52"], "(out of memory): give the same command again"),
        (["sh", "-c", "exit 50"], "an uncaught error; EVENKEY_SPARK_LOG=ERROR shows it)"),
        (["sh", "-c", "exit 1"], "(exit code 1)"),
    ],
)
def test_the_death_of_java_is_reported_with_its_cause_and_the_fix(monkeypatch, command, said):
    class Gateway:
        proc = subprocess.Popen(command)

    monkeypatch.setattr(SparkContext, "_gateway", Gateway)
    with pytest.raises(RunError) as raised, gateway.java_deaths_named():
        raise Py4JNetworkError
    assert said in str(raised.value)
    assert "SPARK_DRIVER_MEMORY=4g" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.slow(1)
def test_a_java_on_its_way_out_is_waited_for_after_a_call_without_an_answer(monkeypatch):
    class Gateway:
        proc = subprocess.Popen([sys.executable, "-c", _DIES_LATE])

    monkeypatch.setattr(SparkContext, "_gateway", Gateway)
    with pytest.raises(RunError, match="killed by SIGKILL"), gateway.java_deaths_named():
        raise Py4JError


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


def test_the_log_level_is_error_or_what_the_environment_sets():
    assert gateway.log_level({}) == "ERROR"
    assert gateway.log_level({"EVENKEY_SPARK_LOG": "info"}) == "INFO"
    assert gateway.log_level({"EVENKEY_SPARK_LOG": "1"}) == "ERROR"


LEFT = b"""\
Traceback (most recent call last):
  File "/tmp/python/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "/tmp/python/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
LEFT_WITH_SOURCES = b"""\
Traceback (most recent call last):
  File "/tmp/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/tmp/pyspark/daemon.py", line 95, in worker
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe
"""


LEFT_WHILE_PLANNING = b"""\
Traceback (most recent call last):
  File "/tmp/pyspark/sql/worker/plan_data_source_read.py", line 401, in main
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/tmp/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
  File "/tmp/pyspark/sql/worker/plan_data_source_read.py", line 404, in main
    outfile.flush()
ConnectionResetError: [Errno 104] Connection reset by peer
"""
LEFT_AT_THE_END = b"PySpark daemon failed to flush the output to the worker process:\n%s\n" % LEFT


@pytest.mark.parametrize("trace", [LEFT, LEFT_WITH_SOURCES, LEFT_WHILE_PLANNING, LEFT_AT_THE_END])
def test_the_trace_of_a_process_that_java_has_left_is_not_shown(trace):
    lines = (b"one\n" + trace + b"two\n").splitlines(keepends=True)
    assert list(gateway._worth_showing(lines)) == [b"one\n", b"two\n"]


@pytest.mark.parametrize("one", [LEFT_WITH_SOURCES, LEFT_WHILE_PLANNING, LEFT_AT_THE_END])
@pytest.mark.parametrize("other", [LEFT, LEFT_WITH_SOURCES])
def test_traces_that_two_processes_print_at_the_same_time_are_not_shown(one, other):
    pairs = zip_longest(*(each.splitlines(keepends=True) for each in (one, other)), fillvalue=b"")
    lines = [b"one\n", *filter(None, chain.from_iterable(pairs)), b"two\n"]
    assert list(gateway._worth_showing(lines)) == [b"one\n", b"two\n"]


def test_a_trace_that_does_not_end_is_shown():
    unended = b"".join(LEFT_WITH_SOURCES.splitlines(keepends=True)[:4]) + b"two\n"
    lines = (unended + LEFT).splitlines(keepends=True)
    assert b"".join(gateway._worth_showing(lines)) == unended


@pytest.mark.parametrize(
    ("ours", "other"),
    [(b"BrokenPipeError", b"ValueError"), (b"/pyspark/daemon.py", b"/job.py")],
)
def test_any_other_trace_is_shown_whole(ours, other):
    lines = (LEFT_WITH_SOURCES.replace(ours, other) + LEFT[:100]).splitlines(keepends=True)
    assert list(gateway._worth_showing(lines)) == lines
