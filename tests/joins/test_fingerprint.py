"""Fingerprints are equal for the same rows in any order, and differ for other rows."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from evenkey.joins.static.fingerprint import fingerprint_of
from tests.tiers import most_in_soak

ROWS = """
select * from values
    (1, 'a', 1.5D, array(1, null), map('x', array(1), 'y', null), named_struct('p', 1, 'q', null)),
    (2, null, double('NaN'), array(), map(), null),
    (2, null, double('NaN'), array(), map(), null),
    (null, '', -0.0D, null, null, named_struct('p', null, 'q', 'z'))
as rows(id, name, ratio, numbers, labels, place)
"""


@pytest.fixture(scope="module")
def rows(session):
    return session.sql(ROWS)


def test_the_digest_is_the_sum_of_sparks_own_hashes(session):
    df = session.range(1000).select((F.col("id") * 7919).alias("k"))
    hashes = [
        row.h
        for row in df.select(F.xxhash64(F.lit(1), F.lit("k").isNull(), "k").alias("h")).collect()
    ]
    found = fingerprint_of(df)
    assert found.rows == 1000
    assert int(found.digest, 16) == sum(hashes) % (1 << 64)


@pytest.mark.slow(4)
def test_it_is_the_same_for_the_same_rows_in_any_order_and_session(session, rows):
    found = fingerprint_of(rows)
    assert found.rows == 4
    assert fingerprint_of(rows.orderBy(F.col("id").desc()).repartition(3)) == found
    backwards = rows.withColumn("labels", F.map_from_entries(F.reverse(F.map_entries("labels"))))
    assert fingerprint_of(backwards) == found
    timed = "select timestamp'2026-03-29 01:30:00Z' t, date'2026-01-01' d, 1.50BD n, X'00' b"
    other = session.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert fingerprint_of(other.sql(timed)) == fingerprint_of(session.sql(timed))
    written = rows.select("*").persist()
    assert fingerprint_of(written) == found
    written.unpersist()


def test_an_empty_one_has_a_fingerprint(rows):
    assert fingerprint_of(rows.where("false")) == (0, "0" * 16)


@pytest.mark.slow(1)
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.limit(3),
        lambda rows: rows.dropDuplicates(["id"]),
        lambda rows: rows.union(rows.where("id = 2").limit(1)),
        lambda rows: rows.withColumn("name", F.expr("coalesce(name, '')")),
        lambda rows: rows.withColumn("ratio", F.expr("nanvl(ratio, 0)")),
        lambda rows: rows.withColumn("numbers", F.expr("array_compact(numbers)")),
        lambda rows: rows.withColumn("numbers", F.expr("coalesce(numbers, array())")),
        lambda rows: rows.withColumn("labels", F.expr("map_filter(labels, (k, v) -> k < 'y')")),
        lambda rows: rows.withColumn("labels", F.expr("coalesce(labels, map())")),
        lambda rows: rows.withColumn(
            "place", F.expr("coalesce(place, named_struct('p', null, 'q', null))")
        ),
    ],
)
def test_it_differs_for_other_rows(rows, change):
    changed = change(rows)
    assert changed.collect() != rows.collect()
    assert fingerprint_of(changed) != fingerprint_of(rows)


@pytest.mark.slow(1)
@pytest.mark.parametrize(
    ("one", "other"),
    most_in_soak(
        [
            ("1 a, int(null) b", "int(null) a, 1 b"),
            ("array(1) a, array(2, 3) b", "array(1, 2) a, array(3) b"),
            ("array(1, null) a", "array(null, 1) a"),
            ("array(array(1), array(2)) a", "array(array(1, 2), array()) a"),
            ("'a' collate utf8_lcase a", "'A' collate utf8_lcase a"),
            ("map(1, 'x', 2, 'y') a", "map(1, 'y', 2, 'x') a"),
            (
                "array(map(named_struct('k', 1), array(1D))) a",
                "array(map(named_struct('k', 1), array(2D))) a",
            ),
            ("parse_json('{\"a\": 1}') a", "parse_json('{\"a\": 2}') a"),
            ("interval 1 day a", "interval 2 day a"),
        ],
        1,
        slow=[
            ("1 a, int(null) b", "int(null) a, 1 b"),
            ("array(1) a, array(2, 3) b", "array(1, 2) a, array(3) b"),
            ("map(1, 'x', 2, 'y') a", "map(1, 'y', 2, 'x') a"),
        ],
    ),
)
def test_it_tells_apart_what_sparks_hash_takes_for_the_same(session, one, other):
    prints = [fingerprint_of(session.sql(f"select {each}")) for each in (one, other)]
    assert prints[0] != prints[1]
    assert prints[0] == fingerprint_of(session.sql(f"select {one}"))
