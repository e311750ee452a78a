"""Tasks of event logs in a profile: by the name under which Spark counts keys, never by keys."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from evenkey.core.profiles import (
    HotKey,
    Operation,
    Profile,
    SampledRows,
    TaskFigures,
    read_profile,
)
from evenkey.reports.diagnosis import diagnose, profile_lines, profile_values, with_tasks
from tests.diagnosis.writing import Log, applied, exchange, node

FINGERPRINT = "0ded32f0dba639a2"
WORSE = (
    "; worse than in the previous log: the longest task takes 6.0 s more than the mean, 1.5 s "
    "before"
)
KEYS = (HotKey(7, 70.0, '{"k0":"ann"}'), HotKey(8, 10.0))


def profile(*fingerprints):
    operation = Operation(
        "applyInPandas(f)", ("customer",), ("t",), 0.0, inputs=(SampledRows(100.0, KEYS),)
    )
    return Profile(dict.fromkeys(fingerprints, operation))


def counted(fingerprint, *below, place=0, number=3):
    text = f"CollectMetrics evenkey-{fingerprint}-{place}-{number}, [count(1) AS rows#7L]"
    return node("Project", "Project [customer#1L]", node("CollectMetrics", text, *below))


def tasks(log, tmp_path, known):
    found = diagnose(log.write(tmp_path / "log"))
    return with_tasks(known, found.applications).operations


def test_a_stage_belongs_to_the_operation_whose_rows_it_reads(tmp_path):
    log = Log()
    log.execution(0, applied(below=counted(FINGERPRINT)))
    log.stage(0, [100, 700, 100, 100], [1.5, 7.5, 1.5, 1.5])
    found = tasks(log, tmp_path, profile(FINGERPRINT, "ffff"))
    assert found["ffff"].tasks is None
    assert found[FINGERPRINT].tasks.application == "app-orders"
    assert found[FINGERPRINT].tasks.rows == (100, 700, 100, 100)
    assert found[FINGERPRINT].tasks.seconds == (1.5, 7.5, 1.5, 1.5)
    assert found[FINGERPRINT].tasks.at == 8.5


def test_the_newest_run_counts(tmp_path):
    log = Log()
    log.execution(0, applied(below=counted(FINGERPRINT)))
    log.execution(1, applied(below=counted(FINGERPRINT, number=4)))
    log.stage(1, [1, 1], [9.0, 1.0])
    log.stage(0, [2, 2], [1.0, 1.0])
    assert tasks(log, tmp_path, profile(FINGERPRINT))[FINGERPRINT].tasks.rows == (1, 1)


def test_rows_of_both_sides_of_a_join_are_added(tmp_path):
    sides = [
        exchange(7 + place, below=counted(FINGERPRINT, node("Range"), place=place, number=place))
        for place in (0, 1)
    ]
    log = Log()
    log.execution(0, node("SortMergeJoin", "SortMergeJoin [a#1], [b#2], Inner", *sides))
    log.stage(0, [{7: 10, 8: 1}, {7: 20, 8: 2}], [1.0, 2.0])
    assert tasks(log, tmp_path, profile(FINGERPRINT))[FINGERPRINT].tasks.rows == (11, 22)


@pytest.mark.parametrize(
    "below",
    [
        # The counted rows are the input of another operator, whose result is shuffled here.
        node("BroadcastHashJoin", "", counted(FINGERPRINT), node("BroadcastExchange")),
        node("HashAggregate", "", counted(FINGERPRINT)),
        node("CollectMetrics", "CollectMetrics own, [count(1)]"),
        node("Range"),
    ],
)
def test_other_stages_add_nothing(tmp_path, below):
    log = Log()
    log.execution(0, applied(below=below))
    log.stage(0, [100, 700], [1.0, 7.0])
    assert tasks(log, tmp_path, profile(FINGERPRINT))[FINGERPRINT].tasks is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        ((1.0, 1.0, 9.0, 1.0), WORSE),
        ((1.0, 1.0, 3.1, 1.0), ""),
        ((2.0, 2.0, 2.0, 2.0), ""),
    ],
)
def test_an_imbalance_that_grew_is_reported(tmp_path, seconds, text):
    log = Log()
    log.execution(0, applied(below=counted(FINGERPRINT)))
    log.stage(0, [100] * 4, seconds)
    before = TaskFigures("app-yesterday", 0.0, (100,) * 4, (1.0, 1.0, 3.0, 1.0))
    earlier = Profile({FINGERPRINT: replace(profile("x").operations["x"], tasks=before)})
    later = Profile(tasks(log, tmp_path, earlier))
    (line,) = profile_lines(later, earlier, keys=False)
    longest = max(seconds)
    assert line.endswith(f"the largest task 1.0 times the mean, the longest {longest:.1f} s{text}")
    worse = profile_values(later, earlier, keys=False)[FINGERPRINT]["worse"]
    assert worse == (pytest.approx({"now": 6.0, "before": 1.5}) if text else None)
    (same,) = profile_lines(later, later, keys=False)
    assert "worse" not in same
    assert profile_values(later, keys=False)[FINGERPRINT]["worse"] is None


def test_keys_are_named_only_if_wanted():
    one = profile(FINGERPRINT)
    assert list(profile_lines(one, keys=False)) == [
        "applyInPandas(f) by customer, of t: hot keys: 70.0%, 10.0%"
    ]
    (line,) = profile_lines(one, keys=True)
    assert line.endswith('hot keys: {"k0":"ann"} 70.0%, hash 0000000000000008 10.0%')
    hidden, named = (json.dumps(profile_values(one, keys=each)) for each in (False, True))
    assert "ann" in named
    assert "ann" not in hidden
    assert "0000000000000008" not in hidden


PROGRAM = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import functions as F
from evenkey.spark import record, session

logs, profile = sys.argv[1:]
spark = session("local[2]", {
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{logs}",
    "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false",
    "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
})
rows = spark.range(0, 3000, 1, 2).select(F.expr("if(id % 10 < 6, 0, 1 + id % 50) as customer"))
record(spark, profile)

def work(frame):
    return frame.head(1)

rows.groupBy("customer").applyInPandas(work, rows.schema).collect()
right = spark.range(100).select(F.col("id").alias("customer"), F.lit(1).alias("one"))
rows.join(right, "customer").write.format("noop").mode("overwrite").save()
spark.stop()
"""


@pytest.mark.soak(20)
def test_a_recording_of_a_whole_program_gets_the_tasks_of_its_log(tmp_path):
    """The program does not end its recording: it ends with Python."""
    from typer.testing import CliRunner

    from evenkey.cli import app

    logs, path = tmp_path / "logs", tmp_path / "profile.json"
    logs.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(logs), str(path)],
        env={**os.environ, "PYTHONPATH": "src"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    done = CliRunner().invoke(app, ["diagnose", str(logs), "--profile", str(path)])
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = {each.operator: each for each in read_profile(path).operations.values()}
    assert set(found) == {"applyInPandas(work)", "join Inner"}
    group: Any = found["applyInPandas(work)"]
    join: Any = found["join Inner"]
    assert sum(group.tasks.rows) == group.inputs[0].rows == 3000
    assert len(group.tasks.rows) == len(group.tasks.seconds) == 4
    assert max(group.tasks.rows) >= 0.6 * 3000
    assert [each.rows for each in join.inputs] == [3000, 100]
    assert sum(join.tasks.rows) == 3100
    assert group.inputs[0].share(group.inputs[0].keys[0]) == pytest.approx(0.6, abs=0.02)
    assert "hot keys: 60" in " ".join(done.output.split())
