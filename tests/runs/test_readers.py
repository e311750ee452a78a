"""Python data sources in the reader process that Spark starts."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys

import pytest
from pyspark.serializers import CPickleSerializer, UTF8Deserializer, write_int, write_with_length
from pyspark.sql.streaming import python_streaming_source_runner as runner
from pyspark.sql.types import StructType

from evenkey.pipeline.runs.input.closing import _ClosingSource
from tests.tiers import most_in_soak

RUNNER = """
import socket, sys
from pyspark.sql.streaming.python_streaming_source_runner import main

connection = socket.socket(fileno=int(sys.argv[1])).makefile("rwb")
main(connection, connection)
"""

FAILING = """
from evenkey.pipeline.runs.input.closing import _ClosingReader

def fail(*_):
    raise {error}("of the reader's own")

fail.__globals__["__name__"] = "evenkey.pipeline.runs.input.closing"
_ClosingReader.latestOffset = fail
"""


def greeting(closing_file):
    """Send Java's first data: versions, files, the source, its schema, rows in a batch."""
    sent = io.BytesIO()
    for text in ("{}.{}".format(*sys.version_info), "/nowhere"):
        write_with_length(text.encode(), sent)
    write_int(0, sent)  # no additional Python files
    pickled = CPickleSerializer().dumps(_ClosingSource({"closing_file": str(closing_file)}))
    write_with_length(pickled, sent)
    write_with_length(StructType().add("time", "timestamp").json().encode(), sent)
    write_int(1, sent)
    return sent.getvalue()


def asked(connection):
    """Request the latest offset, as Java does before each epoch."""
    write_int(runner.LATEST_OFFSET_ADMISSION_CONTROL_FUNC_ID, connection)
    for given in ({"closed": 0}, {"_type": "ReadAllAvailable"}):
        write_with_length(json.dumps(given).encode(), connection)
    connection.flush()


@pytest.fixture
def started():
    """Start Spark's process of a reader, and return Java's side of its connection."""
    running = []

    def start(before=""):
        ours, theirs = socket.socketpair()
        process = subprocess.Popen(
            [sys.executable, "-c", before + RUNNER, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stderr=subprocess.PIPE,
            text=True,
        )
        theirs.close()
        running.append(process)
        connection = ours.makefile("rwb")
        ours.close()
        return process, connection

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.slow(4)
def test_a_reader_answers_as_any_other(started, tmp_path):
    process, connection = started()
    connection.write(greeting(tmp_path / "closing"))
    asked(connection)
    assert connection.read(4) == b"\0\0\0\0"
    assert json.loads(UTF8Deserializer().loads(connection)) == {"closed": 0}
    connection.close()
    assert process.communicate(timeout=240)[1] == ""


@pytest.mark.slow(4)
@pytest.mark.parametrize("questions", most_in_soak([0, 1], 4, slow=[1]))
def test_a_closed_connection_ends_it_quietly(started, tmp_path, questions):
    process, connection = started()
    connection.write(greeting(tmp_path / "closing"))
    for _ in range(questions):
        asked(connection)
    connection.close()
    assert process.communicate(timeout=240)[1] == ""


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    "error", most_in_soak(["EOFError", "ConnectionResetError"], 4, slow=["ConnectionResetError"])
)
def test_an_error_of_its_own_is_sent_to_java(started, tmp_path, error):
    process, connection = started(FAILING.format(error=error))
    connection.write(greeting(tmp_path / "closing"))
    asked(connection)
    assert f"{error}: of the reader's own".encode() in connection.read()
    process.communicate(timeout=240)
