"""Logs that Spark 4.3 wrote (`benchmarks/diagnosed_jobs.py keep`), compared with the jobs' rows.

Spark's hash of a key determines the partition of its rows; it is implemented here again.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evenkey.reports.diagnosis import diagnose

LOGS = Path(__file__).with_name("logs")
SLOTS, ROWS = 4, 4_000
WORD = 0xFFFFFFFF


def rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & WORD


def spark_hash(key: int) -> int:
    """Return Spark's hash of a bigint: Murmur3 with seed 42."""
    word = 42
    for half in (key & WORD, key >> 32 & WORD):
        mixed = rotate(half * 0xCC9E2D51 & WORD, 15) * 0x1B873593 & WORD
        word = (rotate(word ^ mixed, 13) * 5 + 0xE6546B64) & WORD
    word ^= 8
    word = (word ^ word >> 16) * 0x85EBCA6B & WORD
    word = (word ^ word >> 13) * 0xC2B2AE35 & WORD
    word ^= word >> 16
    return word - (1 << 32) if word >> 31 else word


def placed(keys, partitions=SLOTS):
    """Return the number of rows of each partition."""
    counts = Counter(spark_hash(key) % partitions for key in keys)
    return tuple(counts[each] for each in range(partitions))


def hot(share):
    return [0 if n % 100 < 100 * share else 1 + n % 500 for n in range(ROWS)]


def found(job):
    (one,) = diagnose(LOGS / f"{job}.gz").applications
    assert (one.cautions, one.application.slots) == ((), SLOTS)
    return one


def test_the_sides_of_a_join():
    for job, keys in (("join-skewed", hot(0.6)), ("join-balanced", [n % 500 for n in range(ROWS)])):
        (join,) = found(job).findings
        assert join.run.read.operator == "SortMergeJoin"
        assert join.run.sides == (placed(keys), placed(range(501)))
        assert join.run.outputs == placed(keys)
        assert join.run.read.join_type == "Inner"
        assert join.verdict == ("change" if job == "join-skewed" else "balanced")


@pytest.mark.parametrize(
    ("job", "operator", "share"),
    [
        ("apply-skewed", "FlatMapGroupsInPandas", 0.6),
        ("apply-arrow-skewed", "FlatMapGroupsInArrow", 0.45),
        ("udaf-skewed", "ArrowAggregate", 0.5),
        ("repartition-skewed", "MapInPandas", 0.6),
    ],
)
def test_a_function_on_groups(job, operator, share):
    (groups,) = found(job).named
    assert groups.run.read.operator.startswith(operator)
    assert groups.run.rows == placed(hot(share))
    assert not groups.combined


def test_aggregates_that_spark_combines():
    one = found("distinct-skewed")
    assert [each.verdict for each in one.findings] == ["combined", "combined"]
    # Four tasks combine 2,000,000 rows to one row each per customer and shop: 201 times 3.
    first = next(each for each in one.findings if len(each.keys) == 2)
    assert first.keys == ("customer", "shop name")
    assert sum(first.run.rows) == SLOTS * 201 * 3


def test_balanced_keys_and_a_plain_count():
    (balanced,) = found("apply-balanced").findings
    assert balanced.run.rows == placed(n % 2000 for n in range(ROWS))
    assert balanced.verdict == "balanced"
    (count,) = found("count-skewed").findings
    assert sum(count.run.rows) == SLOTS * 201
    assert (count.combined, count.verdict) == (True, "combined")


def test_a_window():
    (window,) = found("window-few").named
    assert window.run.rows == placed(n % 12 for n in range(ROWS))
    assert [each.remedy.how for each in window.changes] == ["whole"]


def test_epochs_are_folded_and_each_has_its_own_rows():
    (epochs,) = found("epochs-skewed").named
    runs = epochs.work.runs
    assert len(runs) >= 4
    assert len({run.execution.query for run in runs}) == 1
    for number, run in enumerate(runs):
        ids = range(1000 * number, 1000 * (number + 1))
        assert run.rows == placed(0 if n % 100 < 60 else 1 + n % 500 for n in ids)
    (count,) = found("stream-count-skewed").findings
    assert (count.verdict, count.stream) == ("combined", True)
    assert len(count.work.runs) >= 4


def test_more_partitions_than_slots():
    (groups,) = found("many-partitions").named
    assert groups.run.rows == placed(hot(0.5), 32)
    assert len(groups.run.tasks) == 32


def test_the_sides_of_a_left_join():
    (join,) = found("left-join-skewed").named
    assert join.run.read.join_type == "LeftOuter"
    assert join.run.sides == (placed(hot(0.5)), placed(range(501)))
    assert join.changes[0].remedy.code == 'eks.join(left, right, ["customer"], "left", workers=4)'


def test_a_straggler_is_no_matter_of_keys():
    (groups,) = found("straggler").findings
    assert groups.run.rows == placed(n % 2000 for n in range(ROWS))
    assert groups.verdict == "balanced"


def test_cogroups_have_a_line():
    """The hottest key is so hot that the best placement gives it a worker of its own."""
    (cogroups,) = found("cogroup-skewed").named
    assert cogroups.run.sides == (placed(hot(0.6)), placed(range(501)))
    (change,) = cogroups.changes
    assert change.remedy.code == (
        'eks.groupBy(left, "customer", workers=4).cogroup(eks.groupBy(right, "customer"))'
        ".applyInPandas(work, schema)"
    )
    assert change.remedy.how == "whole"
    largest = max(map(sum, zip(*cogroups.run.sides, strict=True)))
    assert change.gain == pytest.approx(largest / (0.6 * ROWS), rel=0.02)


def test_stages_without_a_remedy():
    (state,) = found("stream-state-skewed").findings
    assert state.verdict == "none"
    assert state.stream
