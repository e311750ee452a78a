"""Users' own streams: killed repeatedly, rolled back, sharing a state, with odd times."""

from __future__ import annotations

import datetime as dt
import functools
import os
import random
import shutil
import signal
import time
from collections import Counter

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.streams import generated
from tests.faults.streamed import EPOCHS, KINDS, MESSAGES, NAME
from tests.processes import end_session, java_of
from tests.runs.killing import running
from tests.spark import oracle
from tests.spark.offered import offer, stream_of

pytestmark = [
    pytest.mark.soak,
    pytest.mark.faults,
    pytest.mark.classic("kills the driver's own Java"),
    pytest.mark.timeout(1800),
]
KILLS = 8
STATEFUL = ("groupBy", "transformWithState")
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@functools.cache
def truth():
    """Count the stream's keys, without Spark."""
    stream = generated(NAME, messages=MESSAGES)
    return Counter(stream.texts(stream.batch(0, MESSAGES).ids).to_pylist())


def rows_of(directory):
    return ds.dataset(directory / "rows", partitioning="hive").to_table().to_pylist()


def assert_all_once(directory, kind):
    rows = rows_of(directory)
    assert {row["epoch"] for row in rows} == set(range(EPOCHS))
    if kind in STATEFUL:
        seen: dict[str, list[tuple[int, int]]] = {}
        for row in rows:
            seen.setdefault(row["key"], []).append((row["epoch"], row["seen"]))
        # Each epoch has a key once, and adds to the previous count.
        for counts in seen.values():
            assert len({epoch for epoch, _ in counts}) == len(counts)
            assert [count for _, count in sorted(counts)] == sorted(count for _, count in counts)
        assert {key: max(counts)[1] for key, counts in seen.items()} == truth()
        places = {(row["key"], row["task"]) for row in rows}
        assert len(places) == len(seen), "a key has been on two workers"
    elif kind == "join":
        pairs = Counter((row["key"], row["side"]) for row in rows)
        assert pairs == {(key, side): n for key, n in truth().items() for side in "ab"}
    else:
        assert Counter(row["key"] for row in rows) == truth()


def finish(directory, kind, log):
    with running(["tests.faults.streamed", str(directory), kind], log) as process:
        assert process.wait(timeout=900) == 0, log.read_text()[-4000:]


@pytest.mark.parametrize("kind", KINDS)
def test_eight_kills_in_a_row(tmp_path, kind):
    """Every second kill comes soon after an epoch has begun, the others at any time."""
    draw = random.Random(kind)  # noqa: S311 - chance, not secrets
    offsets = tmp_path / "state" / "checkpoint" / "offsets"
    for number in range(KILLS):
        before = len(list(offsets.glob("[0-9]*")))
        log = tmp_path / f"log{number}"
        with running(["tests.faults.streamed", str(tmp_path), kind], log) as process:
            if number % 2:
                while len(list(offsets.glob("[0-9]*"))) == before and process.poll() is None:
                    time.sleep(0.02)
                time.sleep(draw.uniform(0, 1.5))
            else:
                time.sleep(draw.uniform(1, 12))
            ended = process.poll()
            end_session(process.pid)
        assert ended in {None, 0}, log.read_text()[-4000:]
    assert len(list(offsets.glob("[0-9]*"))) > 0, "nothing had begun when it was killed"
    finish(tmp_path, kind, tmp_path / "last")
    assert_all_once(tmp_path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_rolled_back_by_one_commit(tmp_path, kind):
    """Like a file system that lost its last write: the whole last epoch runs again."""
    finish(tmp_path, kind, tmp_path / "first")
    assert_all_once(tmp_path, kind)
    commits = tmp_path / "state" / "checkpoint" / "commits"
    last = str(EPOCHS - 1)
    (commits / last).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    shutil.rmtree(tmp_path / "rows" / f"epoch={last}")
    finish(tmp_path, kind, tmp_path / "again")
    assert_all_once(tmp_path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_an_executor_is_lost_twice(tmp_path, kind):
    shared, log = str(tmp_path / "state" / "tables"), tmp_path / "log"
    words = ["tests.faults.streamed", str(tmp_path), kind, shared, "local-cluster[2,1,1024]"]
    commits = tmp_path / "state" / "checkpoint" / "commits"
    with running(words, log) as process:
        for done in (2, 4):
            while len(list(commits.glob("[0-9]*"))) < done:
                assert process.poll() is None, log.read_text()[-4000:]
                time.sleep(0.05)
            executors = java_of(process.pid, "CoarseGrainedExecutorBackend")
            os.kill(executors[0], signal.SIGKILL)
        assert process.wait(timeout=900) == 0, log.read_text()[-4000:]
    assert_all_once(tmp_path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_was_deleted_between_two_starts(tmp_path, kind):
    """Learned tables start again; if keys have state, the missing plan is an error."""
    log = tmp_path / "log"
    offsets = tmp_path / "state" / "checkpoint" / "offsets"
    with running(["tests.faults.streamed", str(tmp_path), kind], log) as process:
        while len(list(offsets.glob("[0-9]*"))) < 4:
            assert process.poll() is None, log.read_text()[-4000:]
            time.sleep(0.05)
        end_session(process.pid)
    shutil.rmtree(tmp_path / "state" / "tables")
    if kind in STATEFUL:
        with running(["tests.faults.streamed", str(tmp_path), kind], log) as process:
            assert process.wait(timeout=900) != 0
        assert "holds no plan of this query" in log.read_text()
    else:
        finish(tmp_path, kind, log)
        assert_all_once(tmp_path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_two_queries_on_one_state(tmp_path, kind):
    """Two concurrent programs: each has its own tables, or follows the shared plan."""
    shared = str(tmp_path / "tables")
    first, second = tmp_path / "first", tmp_path / "second"
    logs = [tmp_path / "log1", tmp_path / "log2"]
    program = "tests.faults.streamed"
    with running([program, str(first), kind, shared], logs[0]) as one:
        begun = first / "state" / "checkpoint" / "offsets" / "0"
        while not begun.exists():
            assert one.poll() is None, logs[0].read_text()[-4000:]
            time.sleep(0.05)
        with running([program, str(second), kind, shared], logs[1]) as two:
            assert one.wait(timeout=900) == 0, logs[0].read_text()[-4000:]
            assert two.wait(timeout=900) == 0, logs[1].read_text()[-4000:]
    assert_all_once(first, kind)
    assert_all_once(second, kind)


def epoch_of(number, start, a_second=1):
    """Rows of 200 seconds, three in five of one key."""
    rows = 200 * a_second
    return pa.table(
        {
            "key": ["hot" if row % 5 < 3 else f"cold {row % 17}" for row in range(rows)],
            "time": pa.array(
                [start + dt.timedelta(seconds=row / a_second) for row in range(rows)],
                pa.timestamp("us", "UTC"),
            ),
            "id": pa.array(range(number * 10_000, number * 10_000 + rows), pa.int64()),
        }
    )


YEARS = {
    "forward and back": (0, 10, -30, 1, 0),
    "the far past": (0, -1900, 0, 1, 2),
    "the far future": (0, 1, 7000, 0, 1),
}


def jumping(years):
    return [
        epoch_of(number, START.replace(year=START.year + jump)) for number, jump in enumerate(years)
    ]


def windowed(group, rows):
    grouped = group(rows.withWatermark("time", "1 minute"), F.window("time", "1 minute"), "key")
    return grouped.agg(F.count("*").alias("rows"), F.sum("id").alias("ids"))


def flat(epochs):
    return sorted(str(row) for rows in epochs.values() for row in rows.to_pylist())


def assert_as_on_spark(rows, directory):
    ways = {"ours": operators.groupBy, "plain": lambda df, *keys: df.groupBy(*keys)}
    found = {
        name: flat(oracle.run(windowed(group, rows), directory / name))
        for name, group in ways.items()
    }
    assert found["ours"] == found["plain"]
    assert found["plain"]


@pytest.mark.parametrize("jumps", YEARS)
def test_windows_of_times_that_jump_by_years(spark, tmp_path, jumps):
    """Late rows and closed windows equal those of Spark's own query."""
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    offer(tmp_path / "rows", jumping(YEARS[jumps]))
    rows = stream_of(spark, tmp_path / "rows")
    assert_as_on_spark(rows, tmp_path)


@pytest.mark.parametrize("grouping", ["dkg", "planned"])
@pytest.mark.parametrize("jumps", YEARS)
def test_routing_by_times_that_jump_by_years(spark, tmp_path, grouping, jumps):
    epochs = jumping(YEARS[jumps])
    offer(tmp_path / "rows", epochs)
    rows = stream_of(spark, tmp_path / "rows")
    routed = operators.route(rows, "key", grouping, 4, time="time", state=tmp_path / "tables")
    done = oracle.run(routed.select("id", "worker"), tmp_path)
    found = [row for rows in done.values() for row in rows.to_pylist()]
    assert sorted(row["id"] for row in found) == sorted(pa.concat_tables(epochs)["id"].to_pylist())
    assert {row["worker"] for row in found} <= set(range(4))


@pytest.mark.parametrize("pace", ["epochs without rows", "no epochs"])
def test_a_source_that_has_nothing_for_an_hour(spark, tmp_path, pace):
    """Rows come an hour later: windows close as on Spark, and hot keys are still known."""
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    idle = 3 if pace == "epochs without rows" else 0
    # Enough rows that their random distribution hardly affects the loads.
    busy = [epoch_of(number, START + dt.timedelta(minutes=4 * number), 20) for number in range(3)]
    late = [
        epoch_of(number + 5, START + dt.timedelta(hours=1, minutes=4 * number), 20)
        for number in range(3)
    ]
    offer(tmp_path / "rows", [*busy, *[busy[0].slice(0, 0)] * idle, *late])
    rows = stream_of(spark, tmp_path / "rows")
    assert_as_on_spark(rows, tmp_path)
    routed = operators.route(rows, "key", "planned", 4, state=tmp_path / "tables")
    done = oracle.run(routed.select("id", "worker"), tmp_path / "routed")
    every = [row for table in done.values() for row in table.to_pylist()]
    assert sorted(row["id"] for row in every) == sorted(
        pa.concat_tables([*busy, *late])["id"].to_pylist()
    )
    last = done[max(done)].to_pylist()
    loads = Counter(row["worker"] for row in last)
    assert max(loads.values()) < 1.5 * len(last) / 4, "the plan was forgotten"
