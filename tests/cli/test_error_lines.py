"""Errors: the line that is printed, the exit code, and a trace only with ``--debug``."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from types import ModuleType

import pytest

from evenkey.__main__ import main
from evenkey.cli import error_lines
from evenkey.cli.error_lines import explain
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.pipeline.runs.driving.faults import file_handles_named
from tests.tiers import most_in_soak

RUN = ("run", "--dataset", "country-skew-r80")

# Spark 4.3's messages when a sink, a function of a task or a Python worker fails, shortened.
IN_A_SINK = """[STREAM_FAILED] Query [id = 650006fc, runId = 671d9e47] terminated with exception: \
[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach \
batch sink. Reason: An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
{ending}
 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 650006fc, runId = 671d9e47]
"""
IN_A_TASK = """pyspark.errors.exceptions.captured.PythonException: An exception was thrown \
from the Python worker:
Traceback (most recent call last):
  File "work.py", line 8, in bad
    raise Something
{ending}"""
IN_A_WORKER = """An error occurred while calling o165.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed
org.apache.spark.SparkException:
Error from python worker:
  Traceback (most recent call last):
    File "daemon.py", line 1, in <module>
      import missing
  ModuleNotFoundError: No module named 'missing'
PYTHONPATH was:
  /somewhere
\tat org.apache.spark.SparkEnv.createPythonWorker(SparkEnv.scala:326)
"""
JVM = """An error occurred while calling o1.start.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.SparkEnv.create(SparkEnv.scala:326)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(FileOutputStream.java:349)
"""
CONFIGURATION = "evenkey.core.errors.ConfigurationError: no column 'user'; it has: name"
RUNNING = "evenkey.core.errors.RunError: the routing table is corrupt: delete it"


class SparkLikeError(Exception):
    __module__ = "pyspark.errors.exceptions.captured"


@pytest.mark.parametrize(
    ("text", "message", "exit_code"),
    [
        (IN_A_SINK.format(ending=RUNNING), "the routing table is corrupt: delete it", 1),
        (
            IN_A_SINK.format(ending=IN_A_TASK.format(ending=CONFIGURATION)),
            "no column 'user'; it has: name",
            2,
        ),
        (IN_A_SINK.format(ending=IN_A_TASK.format(ending="KeyError: 'a'")), "KeyError: 'a'", 1),
        (IN_A_WORKER, "ModuleNotFoundError: No module named 'missing'", 1),
        (
            IN_A_WORKER.replace("'missing'", "'evenkey'"),
            "ModuleNotFoundError: No module named 'evenkey'" + error_lines._WORKERS_FIX,
            1,
        ),
        (JVM, "java.io.IOException: No space left on device", 1),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03",
            "[PATH_NOT_FOUND] Path does not exist: file:/x.",
            1,
        ),
        (
            "[STREAM_FAILED] Query [id = 6, runId = 7] terminated with exception: Out of memory",
            "Out of memory",
            1,
        ),
    ],
)
def test_the_innermost_error_of_spark_is_printed(text, message, exit_code):
    assert explain(SparkLikeError(text)) == (message, exit_code)


class OfDeadJavaError(Exception):
    """Like an error from Java whose process has died: its text cannot be read."""

    def __str__(self):
        raise ConnectionRefusedError


@pytest.mark.parametrize("behind", [False, True])
def test_an_error_whose_text_died_with_java(behind):
    error = RunError("a worker was lost: run the same command again")
    error.__cause__ = OfDeadJavaError()
    found = explain(error if behind else OfDeadJavaError())
    expected = "a worker was lost: run the same command again" if behind else "OfDeadJavaError"
    assert found.message == expected


def test_our_own_error_is_printed_however_it_was_wrapped():
    wrapped = ValueError("outer")
    wrapped.__cause__ = RunError("inner")
    assert explain(wrapped) == ("inner", 1)
    assert explain(ConfigurationError("bad")) == ("bad", 2)


@pytest.mark.parametrize(
    ("error", "message"),
    [(KeyError("a"), "KeyError: 'a'"), (MemoryError(), "MemoryError")],
)
def test_an_error_without_an_explanation_is_printed_with_its_type(error, message):
    assert explain(error) == (message, 1)


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [(ConfigurationError("fix it"), 2), (RunError("fix it"), 1), (OSError("fix it"), 1)],
)
def test_exit_codes_and_one_line_without_a_trace(invoke, pipeline, error, exit_code):
    def fail():
        raise error

    pipeline.before = fail
    outcome = invoke(*RUN, "--json")
    assert outcome.exit_code == exit_code
    assert outcome.stdout == ""
    assert "fix it\n" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("arguments", [("--debug", *RUN), (*RUN, "--debug")])
def test_debug_shows_the_trace_before_the_line(invoke, pipeline, arguments):
    def fail():
        message = "fix it"
        raise RunError(message)

    pipeline.before = fail
    outcome = invoke(*arguments)
    assert outcome.exit_code == 1
    assert "Traceback (most recent call last)" in outcome.stderr
    assert outcome.stderr.endswith("error: fix it\n")
    # The option holds for that call only.
    assert "Traceback" not in invoke(*RUN).stderr


def test_an_interrupt_is_one_line_and_130(invoke, pipeline):
    def interrupt():
        raise KeyboardInterrupt

    pipeline.before = interrupt
    outcome = invoke(*RUN)
    assert outcome.exit_code == 130
    assert outcome.stderr.splitlines()[-1].startswith("interrupted: nothing was kept")
    assert "Traceback" not in outcome.stderr


def test_the_signal_to_terminate_ends_a_command_as_an_interrupt_does(invoke, pipeline):
    before = signal.getsignal(signal.SIGTERM)
    pipeline.before = lambda: signal.raise_signal(signal.SIGTERM)
    outcome = invoke(*RUN)
    assert outcome.exit_code == 143
    assert outcome.stderr.splitlines()[-1].startswith("terminated: nothing was kept; with --output")
    assert "Traceback" not in outcome.stderr
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interrupt_says_that_the_same_command_continues(invoke, pipeline, tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    pipeline.before = interrupt
    outcome = invoke(*RUN, "--output", tmp_path)
    assert outcome.exit_code == 130
    last = outcome.stderr.splitlines()[-1]
    assert last == "interrupted: the same command continues where this run stopped"


NO_HANDLES = os.strerror(errno.EMFILE)


def of_the_system():
    return OSError(errno.EMFILE, NO_HANDLES, "in.csv")


def of_java():
    return SparkLikeError(f"Caused by: java.net.SocketException: {NO_HANDLES}")


def wrapped():
    error = ConfigurationError("output out cannot be written: choose a directory")
    error.__cause__ = of_the_system()
    return error


@pytest.mark.parametrize("make", [of_the_system, of_java, wrapped])
def test_too_few_file_handles_are_one_line_that_names_the_limit(make):
    explanation = explain(make())
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert explanation.exit_code == 1
    assert "\n" not in explanation.message
    assert explanation.message.startswith("too few file handles (Too many open files)")
    assert f"may have {limit} files open; raise the limit (ulimit -n 65536)" in explanation.message
    with pytest.raises(RunError, match="ulimit -n"), file_handles_named():
        raise make()


def test_a_program_that_cannot_open_its_own_files_says_so(monkeypatch, capsys):
    class Unopened(ModuleType):
        def __getattr__(self, name):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), name)

    monkeypatch.setitem(sys.modules, "evenkey.cli", Unopened("evenkey.cli"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("error: too few file handles (Too many open files)")


@pytest.mark.slow(5)
@pytest.mark.parametrize("limit", most_in_soak([16, 64], 5, slow=[16]))
def test_a_run_with_too_few_file_handles_ends_before_java_starts(tmp_path, limit):
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    run = [sys.executable, "-m", "evenkey", *RUN, "--messages", "10", "--output", "out"]
    done = subprocess.run(
        run, cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=lower
    )
    assert done.returncode == 1
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("error")]
    assert f"may have {limit} files open; raise the limit (ulimit -n 65536)" in line
    assert "Traceback" not in done.stderr
