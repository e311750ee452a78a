"""`dkg`, `pkg` and `planned` balance hot keys on Spark, and keep each key on few workers."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest
from pyspark.sql import functions as F

from evenkey import spark as eks

ROWS, SOURCES = 24_000, 4


class Bound(NamedTuple):
    """The bounds of the papers and of docs/groupings.md for the stream below."""

    workers: int
    balance: float
    dist_cost: float


BOUNDS = {
    # Each key has two candidates, so keys with at most 2/W of the rows can be balanced.
    "pkg": Bound(4, 1.05, 2.0),
    # 1 + 1/sqrt(100/W) = 1.28, plus 0.1 for the rows before the hot key is known to be hot.
    "dkg": Bound(8, 1.38, 2.0),
    # There are at most W - 1 more (worker, key) pairs than keys.
    "planned": Bound(8, 1.05, 1.01),
}


@pytest.fixture(scope="module")
def events(session):
    """Make rows, 5/s: 40 % of the rows of each source have one key, the others one of 1,500."""
    number = F.col("id")
    key = F.when(number % 10 < 4, "hot").otherwise(
        F.concat(F.lit("cold "), F.pmod(F.xxhash64(number), F.lit(1500)))
    )
    micros = number % (ROWS // SOURCES) * 200_000 + 1_577_836_800_000_000
    time = F.timestamp_micros(micros)
    return session.range(0, ROWS, 1, SOURCES).select(key.alias("key"), time.alias("time"))


def placed(events, grouping, workers):
    """Route and place rows; return the key and the Spark partition of each."""
    time = "time" if grouping == "dkg" else None
    routed = eks.route(events, "key", grouping, workers, time=time)
    rows = eks.place(routed, workers).select("key", F.spark_partition_id().alias("partition"))
    return list(zip(*rows.toArrow().to_pydict().values(), strict=True))


def balance_of(rows, workers):
    counts = Counter(partition for _, partition in rows)
    assert sum(counts.values()) == ROWS
    assert set(counts) <= set(range(workers))
    return max(counts.values()) * workers / ROWS


def dist_cost_of(rows):
    """Return the number of (worker, key) pairs per distinct key."""
    return len(set(rows)) / len({key for key, _ in rows})


@pytest.mark.parametrize("grouping", BOUNDS)
def test_a_hot_key_is_balanced_and_keys_stay_on_few_workers(events, grouping):
    bound = BOUNDS[grouping]
    rows = placed(events, grouping, bound.workers)
    assert Counter(key for key, _ in rows)["hot"] == ROWS * 4 // 10
    assert balance_of(rows, bound.workers) <= bound.balance
    assert dist_cost_of(rows) <= bound.dist_cost


@pytest.mark.parametrize("workers", sorted({bound.workers for bound in BOUNDS.values()}))
def test_plain_key_grouping_does_not_balance_the_same_rows(events, workers):
    rows = placed(events, "kg", workers)
    assert dist_cost_of(rows) == 1
    assert balance_of(rows, workers) >= 0.4 * workers
    assert all(balance_of(rows, workers) > bound.balance for bound in BOUNDS.values())
