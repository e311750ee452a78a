"""Malicious logs are read in part or rejected, within the limits on resources."""

from __future__ import annotations

import gzip
import json
import os
import random
import struct
from typing import Any

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.diagnosis import diagnose
from evenkey.reports.diagnosis.reading import limits
from evenkey.reports.diagnosis.reading.spark_plans import node_of
from tests.diagnosis.writing import Log, adaptive, applied, skewed

GOOD = skewed().text().encode()
LINES = GOOD.splitlines(keepends=True)
START = b"".join(LINES[:4])
DEEP = b'{"Event":"SparkListenerTaskEnd","x":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
STAGE = b'{"Event":"SparkListenerStageCompleted","Stage Info":{"Stage Name":"x","Stage ID":%s}}\n'
BAD_LINES = [
    (DEEP, "not a Spark event"),
    (STAGE % (b"9" * 6000), "not a Spark event"),
    (STAGE % b"Infinity", "not as Spark"),
    (STAGE % b"1e999", "not as Spark"),
    (STAGE % b"-1", "not as Spark"),
    (STAGE % b'"x"', "not as Spark"),
    (STAGE % b"{}", "not as Spark"),
    (b"\x00" * 1000 + b"\n", "not a Spark event"),
]


def cautions(path):
    (one,) = diagnose(path).applications
    assert len(one.named) == 1
    return " ".join(one.cautions)


@pytest.mark.parametrize(("line", "said"), BAD_LINES)
def test_a_bad_line_is_skipped_and_counted(tmp_path, line, said):
    (tmp_path / "log").write_bytes(START + line + b"".join(LINES[4:]))
    found = cautions(tmp_path / "log")
    assert said in found
    if "event" in said:
        assert "1 line of the log is not a Spark event (the first: line 5 of log)" in found


def test_a_line_that_is_too_long_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LINE_BYTES", 100_000)
    long = b'{"Event":"SparkListenerTaskEnd","x":"' + b"a" * 3_000_000 + b'"}\n'
    with gzip.open(tmp_path / "log.gz", "wb") as file:
        file.write(START + long + b"".join(LINES[4:]))
    assert "(the first: line 5 of log.gz)" in cautions(tmp_path / "log.gz")


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("LOG_BYTES", len(GOOD) + 1000, "holds more than 0 MiB"), ("LOG_SECONDS", -1.0, "longer")],
)
def test_input_beyond_a_limit_is_not_read(tmp_path, monkeypatch, limit, value, said):
    with gzip.open(tmp_path / "log.gz", "wb") as file:
        file.write(GOOD + b"\n" * 5_000_000)
    monkeypatch.setattr(limits, limit, value)
    if limit == "LOG_BYTES":
        monkeypatch.setattr("evenkey.reports.diagnosis.reading.packing._CHUNK_BYTES", len(GOOD))
        assert said in cautions(tmp_path / "log.gz")
    else:
        with pytest.raises(ConfigurationError, match=said):
            diagnose(tmp_path / "log.gz")


def test_a_plan_may_be_as_deep_as_the_limit(monkeypatch):
    monkeypatch.setattr(limits, "PLAN_DEPTH", 3)
    scan = {"nodeName": "Scan", "simpleString": "", "children": [], "metrics": []}
    deepest = {**scan, "children": [{**scan, "children": [scan]}]}
    assert node_of(deepest).name == "Scan"
    with pytest.raises(ValueError, match="more than 3 operators"):
        node_of({**scan, "children": [deepest]})


def test_a_plan_that_is_too_deep_is_left_out(tmp_path):
    plan = applied()
    for _ in range(limits.PLAN_DEPTH):
        plan = {"nodeName": "Project", "simpleString": "", "children": [plan], "metrics": []}
    log = skewed()
    log.execution(1, plan)
    text = log.text()
    (tmp_path / "log").write_text(text)
    (one,) = diagnose(tmp_path / "log").applications
    assert len(one.named) == 1
    assert "left out" in one.cautions[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bomb.lz4", b"LZ4Block" + struct.pack("<Biii", 0x20, 10, 2**31 - 1, 0) + b"0123456789"),
        ("negative.lz4", b"LZ4Block" + struct.pack("<Biii", 0x20, 10, -5, 0) + b"0123456789"),
        ("long.lz4", b"LZ4Block" + struct.pack("<Biii", 0x20, 2**31 - 1, 10, 0) + b"01"),
        (
            "bomb.snappy",
            b"\x82SNAPPY\x00" + b"\0" * 8 + struct.pack(">i", 8) + b"\xff\xff\xff\xff\x7fabc",
        ),
        ("deep", b'{"Event":' + b'{"Event":' * 100_000),
        ("empty.gz", b""),
    ],
)
def test_a_bad_file_is_refused_alone_and_named_among_others(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        diagnose(tmp_path / name)
    assert len(str(caught.value).splitlines()) == 1
    assert name in str(caught.value)
    skewed().write(tmp_path / "app-orders")
    found = diagnose(tmp_path)
    assert [each.application.name for each in found.applications] == ["orders"]
    assert name in " ".join(found.cautions)


def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ConfigurationError, match="not a regular file"):
            diagnose(path)
    skewed().write(tmp_path / "app-orders")
    found = diagnose(tmp_path)
    assert found.cautions == ("1 file is left out (pipe: not a regular file).",)


def test_a_file_of_a_rolled_log_that_cannot_be_read_is_named(tmp_path):
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    (directory / "events_1_app-1").write_bytes(b"".join(LINES[:5]))
    os.mkfifo(directory / "events_2_app-1")
    (directory / "events_99999999999999999999999_app-1").write_bytes(b"".join(LINES[5:]))
    assert "left out: events_2_app-1: not a regular file." in cautions(directory)


HOSTILE: list[Any] = [
    None,
    True,
    -1,
    1.5,
    2**70,
    1e300,
    "",
    "x",
    "-7",
    [],
    [1],
    {},
    {"x": 1},
    [[[]]],
    "a" * 99,
]


def spoiled(value, chance, dice):
    """Return a value with random parts replaced by other values."""
    if dice.random() < chance:
        return dice.choice(HOSTILE)
    if isinstance(value, dict):
        return {name: spoiled(each, chance, dice) for name, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each, chance, dice) for each in value]
    return value


def test_no_value_of_an_event_ends_the_diagnosis(tmp_path):
    log = Log()
    log.execution(0, applied())
    log.replanned(0, adaptive(applied()))
    log.stage(0, [100, 700, 100, 100], [1.5, 7.5, 1.5, 1.5], query="q")
    log.execution(1, applied(8))
    log.stage(1, [{7: 1, 8: 9}, {8: 3}], [0.1, 0.2])
    events = [json.loads(line) for line in log.text().splitlines()]
    file = tmp_path / "log"
    refused = []
    for seed in range(300):
        dice = random.Random(seed)  # noqa: S311 - not for secrets
        lines = [json.dumps(spoiled(each, 0.04, dice)) for each in events]
        file.write_text("\n".join(lines))
        try:
            json.dumps(diagnose(file).to_json())
        except ConfigurationError as error:
            refused.append(str(error))
    assert [each for each in refused if len(each.splitlines()) != 1] == []
    assert len(refused) < 150
