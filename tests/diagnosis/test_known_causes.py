"""Logs of jobs whose cause of slowness is known (`benchmarks/known_causes.py keep`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenkey.reports.diagnosis import diagnose

LOGS = Path(__file__).with_name("causes")
KEYS = {"group-hot": "skewed keys", "join-hot": "skewed keys", "window-hot": "skewed keys"}
NULLS = {"join-nulls": "null keys", "group-nulls": "null keys"}
OTHERS = {
    "large-file": "large file",
    "spill": "spill",
    "slow-host": "slow executor",
    "few-partitions": "few tasks",
    "merged-partitions": "few tasks",
    "slow-task": "slow task",
    "nothing": "none",
}


def longest(job):
    """Return the longest stage that was found; None if no stage was."""
    (one,) = diagnose(LOGS / f"{job}.gz").applications
    return max(one.findings, key=lambda each: each.work.seconds, default=None)


def test_all_kept_logs_have_a_known_cause():
    assert {file.name for file in LOGS.glob("*.gz")} == {
        f"{job}.gz" for job in KEYS | NULLS | OTHERS
    }


@pytest.mark.parametrize(("job", "cause"), [*(KEYS | NULLS | OTHERS).items()])
def test_the_cause_is_found(job, cause):
    found = longest(job)
    assert found is not None
    assert found.cause == cause
    assert found.verdict == ("change" if job in KEYS | NULLS else found.verdict)
    offered = [f"about {each.gain:.1f}x faster" for each in found.changes]
    assert not offered or found.reason.startswith(tuple(offered)) or cause == "spill"


@pytest.mark.parametrize("job", OTHERS)
def test_no_cure_for_skew_is_offered_where_skew_is_not_the_cause(job):
    (one,) = diagnose(LOGS / f"{job}.gz").applications
    offered = [change.remedy for each in one.findings for change in each.changes]
    assert [each.by for each in offered] == ["spark"] * len(offered)
    assert not {each.how for each in offered} & {"split", "whole", "broadcast", "adaptive", "nulls"}


def test_spark_alone_suffices_where_a_side_is_small():
    found = longest("join-hot")
    # Counting keys would cost what evenkey's join gains, so only Spark's answer is offered.
    (change,) = found.changes
    assert change.remedy.code == 'left.join(F.broadcast(right), ["customer"], "inner")'
    assert (change.remedy.by, change.confidence) == ("spark", "high")
    assert found.spark_suffices
    assert found.reason.endswith("; Spark alone suffices")


def test_a_skewed_window_gets_over():
    found = longest("window-hot")
    (change,) = (each for each in found.changes if each.remedy.by == "evenkey")
    assert change.remedy.code == 'eks.over(df, "customer", "amount", columns, workers=4)'
    assert "no order value has more rows than a task should have" in change.remedy.condition
    assert change.gain > 1.2


def test_the_slow_executor_is_named():
    assert "executor 0" in longest("slow-host").reason


def test_a_command_is_marked_as_one_in_markdown():
    text = diagnose(LOGS / "slow-host.gz").to_markdown()
    assert "```sh\nspark-submit --conf spark.speculation=true ...\n```\n" in text
