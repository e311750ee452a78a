"""Keys of type CHAR match as in Spark, which pads the shorter text when it compares two of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.joins.matching.on import Keys
from evenkey.joins.sides.sides import check_sides
from evenkey.spark.joins.join_keys import join_keys
from evenkey.spark.keys.char_lengths import char_lengths, differ_in_char
from tests.tiers import most_in_soak

eks: Any = operators
WORKERS = 3
DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


@pytest.fixture(scope="module")
def tables(session, tmp_path_factory):
    """Read two tables whose keys have different lengths."""
    home = tmp_path_factory.mktemp("tables")
    session = session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    for length, rows in ((5, 600), (10, 60)):
        name = f"evenkey_char_{length}"
        session.sql(
            f"create table {name} (k CHAR({length}), ks ARRAY<CHAR({length})>, "
            f"v VARCHAR({length}), n BIGINT) using parquet location '{home}/{name}'"
        )
        keys = session.range(rows).selectExpr("if(id % 10 < 6, 'ab', concat('c', id % 7)) k", "id")
        keys.selectExpr("k", "array(k)", "k", "id").write.insertInto(name)
    yield [session.table(f"evenkey_char_{length}") for length in (5, 10)]
    for length in (5, 10):
        session.sql(f"drop table evenkey_char_{length}")


@pytest.fixture(scope="module")
def padded(session):
    """Make two sides as tables with CHAR(5) and CHAR(10) give them, each with one row."""
    return [
        session.createDataFrame([("ab".ljust(length), 1)], "k string, n long").withMetadata(
            "k", {DECLARED: f"char({length})"}
        )
        for length in (5, 10)
    ]


CONDITIONS: dict[str, Any] = {
    "name": lambda *_: "k",
    "=": lambda left, right: left.k == right.k,
    "<=>": lambda left, right: left.k.eqNullSafe(right.k),
    "arrays": lambda left, right: left.ks == right.ks,
    "varchar": lambda left, right: left.v == right.v,
    "rtrim": lambda left, right: F.rtrim(left.k) == F.rtrim(right.k),
}


@pytest.mark.slow(5)
@pytest.mark.parametrize("name", most_in_soak(CONDITIONS, 5, slow=["<=>"]))
def test_rows_match_as_in_sparks_own_join(tables, name):
    on = CONDITIONS[name](*tables)
    (left, right), how = tables, "full"
    got = eks.join(left, right, on, how, WORKERS)
    expected = left.join(right, on, how)
    assert expected.count() > left.count()
    assert got.count() == expected.count()
    is_char = name not in ("varchar", "rtrim")
    explained = str(eks.explain(eks.join, left, right, on, how, WORKERS))
    assert ("is CHAR on both sides" in explained) == is_char


def test_the_type_is_found_where_spark_keeps_it():
    def lengths(kind, **declared):
        return char_lengths(StructField("k", kind, metadata=declared))

    text = "string"
    schema = StructType([StructField("k", StructType().add("f", text, metadata={}))])
    nested = StructType().add("f", text, metadata={DECLARED: "char(7)"})
    assert lengths(schema) == []
    assert lengths(nested) == [7]
    assert lengths(schema, **{DECLARED: "struct<a:char(5),b:varchar(6),c:array<char(8)>>"}) == [
        5,
        8,
    ]
    assert lengths(schema, **{DECLARED: "varchar(6)"}) == []


def test_keys_are_left_to_spark_if_both_sides_are_char(padded):
    left, right = padded
    text = right.select(F.col("k").cast("string"), "n")
    assert join_keys(left, right, ["k"], ["k"]) == (
        "key k is CHAR on both sides, which Spark pads before it compares"
    )
    assert not isinstance(join_keys(left, text, ["k"], ["k"]), str)


def test_operators_of_evenkeys_own_refuse_different_lengths(padded):
    left, right = padded
    assert differ_in_char(left.schema["k"], right.schema["k"])
    assert not differ_in_char(left.schema["k"], left.schema["k"])
    for on in ("k", [left.k == right.k], [left.k.eqNullSafe(right.k)]):
        with pytest.raises(ConfigurationError, match="padded to 5 and 10 characters"):
            eks.asof_join(left, right, on, left.n, right.n, workers=WORKERS)
    with pytest.raises(ConfigurationError, match="CHAR type of another length"):
        check_sides(left, right.withColumnRenamed("n", "m"), Keys(("k",)), "inner")


@pytest.mark.slow(4)
def test_groups_of_two_sides_are_those_of_spark(padded):
    """Spark's own ``cogroup`` does not pad keys, so evenkey's does not either."""

    def sizes(first, second):
        return pd.DataFrame({"left": [len(first)], "right": [len(second)]})

    def rows(group_by, **options):
        one, other = (group_by(side, "k", **options) for side in padded)
        return sorted(one.cogroup(other).applyInPandas(sizes, "left long, right long").collect())

    assert rows(eks.groupBy, workers=WORKERS) == rows(type(padded[0]).groupBy)
