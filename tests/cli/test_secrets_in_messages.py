"""No command prints a password that an address contains, in any option with an address."""

from __future__ import annotations

import shlex

import pyspark.core.context
import pyspark.java_gateway
import pyspark.sql
import pytest

from tests.tiers import most_in_soak

SECRET = "hunter2"
ADDRESSES = [
    f"http://me:{SECRET}@127.0.0.1:9/x",
    f"http://me:{SECRET}/more@127.0.0.1:9/x",
    f"s3a://me:{SECRET}@bucket/x",
    f"s3a://me:{SECRET}/more@bucket/x",
    f"ftp://me:{SECRET}@host/x",
    f"kafka://me:{SECRET}@127.0.0.1:9/topic",
    f"me:{SECRET}@127.0.0.1:9/topic",
    f"127.0.0.1:9,me:{SECRET}@127.0.0.1:9/topic",
    f"influxdb://me:{SECRET}@127.0.0.1:9/db",
    f"influxdb://127.0.0.1:9/db?token={SECRET}",
    f"http://[me:{SECRET}@::1/x",
]
STREAM = "--dataset country-skew-r80"
COMMANDS = [
    "run --kafka ADDRESS",
    f"run {STREAM} --output-kafka ADDRESS",
    f"run {STREAM} --output ADDRESS",
    f"run {STREAM} --export ADDRESS",
    "run --input ADDRESS --key user",
    f"run {STREAM} --master ADDRESS",
    f"run {STREAM} --kafka-config ADDRESS --output-kafka 127.0.0.1:9/topic",
    "run --config ADDRESS",
    f"compare {STREAM} --groupings kg,pkg --output ADDRESS",
    f"compare {STREAM} --groupings kg,pkg --export ADDRESS",
    "compare --kafka ADDRESS --groupings kg,pkg",
    "simulate --input ADDRESS --key user",
    "simulate --kafka ADDRESS",
    "advise ADDRESS --key user",
    "diagnose ADDRESS",
    "join run --kafka ADDRESS",
    "join run --output-kafka ADDRESS",
    "join run --output ADDRESS",
    "join run --export ADDRESS",
    "join run --input ADDRESS",
    "join run --polygons ADDRESS",
    "join run --collisions ADDRESS",
    "join produce ADDRESS",
    "dataset produce country-skew-r80 ADDRESS",
    "dashboard --run ADDRESS --host 256.0.0.1",
    "experiment run nothing --output ADDRESS",
    "diagnose logs ADDRESS",
]


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("debug", most_in_soak(["", "--debug"], 0.5, slow=["--debug"]))
@pytest.mark.parametrize("command", COMMANDS)
def test_a_password_is_not_printed(invoke, monkeypatch, tmp_path, command, debug):
    def refuse(*_arguments, **_options):
        message = "the command tried to start Java"
        raise AssertionError(message)

    monkeypatch.chdir(tmp_path)
    # Some of these addresses are valid names of local files, so a run must not start a session.
    monkeypatch.setattr(pyspark.sql.SparkSession, "getActiveSession", refuse)
    monkeypatch.setattr("evenkey.spark.sessions.java_home.subprocess.run", refuse)
    monkeypatch.setattr(pyspark.core.context, "launch_gateway", refuse)
    monkeypatch.setattr(pyspark.java_gateway, "launch_gateway", refuse)
    for address in ADDRESSES:
        given = [address if each == "ADDRESS" else each for each in shlex.split(command)]
        ended = invoke(*given, *filter(None, [debug]))
        assert ended.exit_code != 0, (given, ended.output)
        assert SECRET not in ended.output + ended.stderr, (given, ended.output)
