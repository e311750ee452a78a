"""Logs on disk: compressed, rolled, incomplete, damaged, and files that are not logs."""

from __future__ import annotations

import gzip
import json
import os
import struct
import time
from typing import Any

import pyarrow as pa
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.diagnosis import diagnose
from tests.diagnosis.writing import Log, skewed

GOOD = skewed().text().encode()


def named(path):
    return [each.fullness["rows"] for each in diagnose(path).named]


def zstd(content):
    return pa.compress(content, "zstd", asbytes=True)


def lz4_blocks(content, size=300):
    """Compress as Spark's LZ4BlockOutputStream does; the checksum, which is not read, is 0."""
    packed = b""
    for start in range(0, len(content), size):
        block = content[start : start + size]
        raw = pa.compress(block, "lz4_raw", asbytes=True)
        token, kept = (0x20, raw) if len(raw) < len(block) else (0x10, block)
        packed += struct.pack("<8sBiii", b"LZ4Block", token, len(kept), len(block), 0) + kept
    return packed + struct.pack("<8sBiii", b"LZ4Block", 0x10, 0, 0, 0)


def snappy_chunks(content, size=300):
    """Compress as Spark's SnappyOutputStream does."""
    packed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for start in range(0, len(content), size):
        chunk = pa.compress(content[start : start + size], "snappy", asbytes=True)
        packed += struct.pack(">i", len(chunk)) + chunk
    return packed


PACKED = [
    ("app-1", bytes),
    ("app-1.zstd", zstd),
    ("app-1.zst", zstd),
    ("app-1.zstd.inprogress", zstd),
    ("app-1.gz", gzip.compress),
    ("app-1.lz4", lz4_blocks),
    ("app-1.snappy", snappy_chunks),
]


@pytest.mark.parametrize(("name", "pack"), PACKED)
def test_a_packed_log_is_read(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(GOOD))
    assert named(tmp_path / name) == [2.8]
    assert named(tmp_path) == [2.8]


@pytest.mark.slow(1)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
@pytest.mark.classic("packs by Spark's own classes")
def test_compressed_logs_are_read(tmp_path, spark, codec):
    jvm = spark._jvm
    configuration = spark.sparkContext._conf._jconf
    file = tmp_path / f"app-1.{codec}"
    packer = jvm.org.apache.spark.io.CompressionCodec.createCodec(configuration, codec)
    stream = packer.compressedOutputStream(jvm.java.io.FileOutputStream(str(file)))
    stream.write(bytearray(GOOD * 20))
    stream.close()
    (one,) = diagnose(file).applications
    assert len(one.application.stages) == 1
    assert not any("breaks off" in each for each in one.cautions)


@pytest.mark.parametrize(("name", "pack"), PACKED)
def test_a_log_that_is_cut_is_read_up_to_the_cut(tmp_path, name, pack):
    log = skewed()
    log.execution(1, {"nodeName": "Range", "simpleString": "x" * 100_000, "children": []})
    content = log.text(ended=False).encode()
    packed = pack(content + bytes(json.dumps(log.events[-1]), "utf-8") * 50)
    (tmp_path / name).write_bytes(packed[: len(packed) - 40])
    (one,) = diagnose(tmp_path / name).applications
    assert any("breaks off in the middle of a line" in each for each in one.cautions)
    assert any("has no end" in each for each in one.cautions)
    assert one.application.id == "app-orders"


@pytest.mark.parametrize(
    ("name", "pack", "half_a_header"),
    [("app-1.lz4", lz4_blocks, b"LZ4Bl"), ("app-1.snappy", snappy_chunks, b"\x00\x00")],
)
def test_a_log_that_is_cut_between_lines_breaks_off(tmp_path, name, pack, half_a_header):
    (tmp_path / name).write_bytes(pack(GOOD) + half_a_header)
    (one,) = diagnose(tmp_path / name).applications
    assert len(one.named) == 1
    assert ["breaks off" in each for each in one.cautions] == [True]


def test_half_a_line_is_no_separate_caution(tmp_path):
    (tmp_path / "log").write_bytes(skewed().text(ended=False).encode() + b'{"Event":"Spark')
    (one,) = diagnose(tmp_path / "log").applications
    assert [each.verdict for each in one.findings] == ["change"]
    assert len(one.cautions) == 2


def test_lines_that_are_no_events_are_counted(tmp_path):
    lines = GOOD.splitlines(keepends=True)
    broken = [*lines[:5], b"no json\n", b"[1]\n", b'{"Event":3}\n', *lines[5:]]
    (tmp_path / "log").write_bytes(b"".join(broken))
    (one,) = diagnose(tmp_path / "log").applications
    assert one.cautions == (
        "3 lines of the log are not Spark events (the first: line 6 of log): left out.",
    )
    assert len(one.named) == 1


def test_events_that_lack_something_are_counted(tmp_path):
    event = b'{"Event":"SparkListenerTaskEnd","Stage ID":0}\n'
    (tmp_path / "log").write_bytes(GOOD + event + event)
    (one,) = diagnose(tmp_path / "log").applications
    assert one.cautions == ("2 events are not as Spark 4.3.0 writes them, and are left out.",)


def test_an_unknown_version_is_reported(tmp_path):
    log = skewed()
    log.events[0]["Spark Version"] = "7.1.0"
    (one,) = diagnose(log.write(tmp_path / "log")).applications
    assert one.cautions == (
        "Written by Spark 7.1.0: only logs of Spark 3 and 4 are supported; figures may be missing.",
    )
    assert len(one.named) == 1


def test_a_rolled_log_is_one_application(tmp_path):
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    lines = GOOD.splitlines(keepends=True)
    for number in range(len(lines)):  # more than nine, because events_10 must come after events_9
        (directory / f"events_{number + 1}_app-1.zstd").write_bytes(zstd(lines[number]))
    (directory / "appstatus_app-1").touch()
    assert named(directory) == [2.8]
    assert named(tmp_path) == [2.8]
    (one,) = diagnose(tmp_path).applications
    assert one.cautions == ()


def test_a_compacted_file_replaces_the_previous_ones(tmp_path):
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    lines = GOOD.splitlines(keepends=True)
    (directory / "events_1_app-1").write_bytes(b"".join(lines[:5]))
    (directory / "events_2_app-1").write_bytes(b"".join(lines[5:7]))
    (directory / "events_2_app-1.compact").write_bytes(b"".join(lines[:7]))
    (directory / "events_3_app-1").write_bytes(b"".join(lines[7:]))
    (directory / "appstatus_app-1.inprogress").touch()
    (one,) = diagnose(tmp_path).applications
    assert len(one.named) == 1
    assert len(one.application.stages[0].tasks) == 4


def test_a_running_application_is_reported(tmp_path):
    (tmp_path / "app-1.inprogress").write_text(skewed().text(ended=False))
    (one,) = diagnose(tmp_path).applications
    assert one.cautions == (
        "The log has no end: the application still runs; its contents are diagnosed.",
    )


def test_a_directory_has_several_applications(tmp_path):
    for name in ("orders", "clicks"):
        skewed(name=name).write(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no log")
    found = diagnose(tmp_path)
    assert [each.application.name for each in found.applications] == ["clicks", "orders"]
    assert found.cautions == ("1 file is left out (notes.txt: not an event log).",)
    (only,) = diagnose(tmp_path, application="app-clicks").applications
    assert only.application.name == "clicks"
    with pytest.raises(
        ConfigurationError, match=r"has the ids app-clicks, app-orders; pass one of them"
    ):
        diagnose(tmp_path, application="app-7")


def test_the_logs_of_the_last_hours(tmp_path):
    now = time.time()
    for name, hours in {"monday": 30, "tuesday": 3, "noon": 0.5}.items():
        skewed(name=name).write(tmp_path / name)
        os.utime(tmp_path / name, (now, now - 3600 * hours))

    def read(hours):
        found = diagnose(tmp_path, last_hours=hours)
        return [each.application.name for each in found.applications]

    assert read(24) == ["noon", "tuesday"]
    assert read(1) == ["noon"]
    with pytest.raises(ConfigurationError, match=r"last_hours = 0.2: no log in .* changed in this"):
        read(0.2)
    with pytest.raises(ConfigurationError, match="last_hours = -1"):
        read(-1)


def test_an_application_with_a_date_in_its_name_is_the_same_one_the_next_day(tmp_path):
    skewed(name="orders-2026-11-26").write(tmp_path / "before")
    skewed(name="orders-2026-11-27").write(tmp_path / "after")
    before = diagnose(tmp_path / "before").to_json()
    compared = diagnose(tmp_path / "after").since(before)
    assert (compared.new, compared.worse, compared.fixed) == ((), (), ())


def test_several_runs_of_one_job_are_compared_by_the_last_one(tmp_path):
    for name in ("first", "second"):
        skewed().write(tmp_path / name)
    found = diagnose(tmp_path)
    assert len(found.named) == 2
    compared = found.since(found.to_json())
    assert (compared.new, compared.worse, compared.fixed) == ((), (), ())
    skewed(seconds_a_row=0.02).write(tmp_path / "third")
    (worse,) = diagnose(tmp_path).since(found.to_json()).worse
    assert worse.before is not None


def test_a_log_that_cannot_be_read_does_not_stop_the_others(tmp_path):
    skewed().write(tmp_path / "app-orders")
    (tmp_path / "app-half").write_bytes(GOOD.splitlines(keepends=True)[0])
    found = diagnose(tmp_path)
    assert [each.application.name for each in found.applications] == ["orders"]
    (caution,) = found.cautions
    assert "app-half: it lacks the start of its Spark application" in caution
    with pytest.raises(
        ConfigurationError, match="app-half: it lacks the start of its Spark application"
    ):
        diagnose(tmp_path, application="app-half")


def test_a_uri_of_a_file_and_one_of_a_store(tmp_path):
    assert named(skewed().write(tmp_path / "log").as_uri()) == [2.8]
    with pytest.raises(ConfigurationError, match=r"s3a://b/logs: event logs are read from paths"):
        diagnose("s3a://b/logs")


def test_no_keyed_shuffle_is_one_line(tmp_path):
    (one,) = diagnose(Log().write(tmp_path / "log")).applications
    assert one.cautions == ("No keyed shuffle: no stage of a query reads rows by key.",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is not a Spark event log; pass what a Spark application"),
        (b"to be or not\n", "is not a Spark event log"),
        (b'{"user": 1}\n', "is not a Spark event log"),
        (b'{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}\n', "lacks the start"),
    ],
)
def test_a_file_that_is_no_log_is_refused_in_one_line(tmp_path, content, message):
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(ConfigurationError, match=message):
        diagnose(tmp_path / "log")


def test_no_log_in_a_directory_and_nothing_at_all(tmp_path):
    with pytest.raises(ConfigurationError, match=r"contains no event log; pass what"):
        diagnose(tmp_path)
    with pytest.raises(ConfigurationError, match=r"cannot be read .No such file.*: name"):
        diagnose(tmp_path / "absent")
    number: Any = 7
    with pytest.raises(ConfigurationError, match="source = 7: must be a path"):
        diagnose(number)


@pytest.mark.parametrize(("name", "pack"), PACKED)
def test_the_bytes_read_are_reported(tmp_path, name, pack):
    for file in (f"a-{name}", f"b-{name}"):
        (tmp_path / file).write_bytes(pack(GOOD))
    steps: list[tuple[int, int, str]] = []
    diagnose(tmp_path, on_progress=lambda *step: steps.append(step))
    whole = sum(each.stat().st_size for each in tmp_path.iterdir())
    done, total, last = steps[-1]
    assert (total, last) == (whole, f"b-{name}")
    assert whole - 21 <= done <= whole  # an lz4 file ends with an empty block of 21 bytes
    assert steps == sorted(steps)
    assert {each for _, _, each in steps} == {f"a-{name}", f"b-{name}"}
