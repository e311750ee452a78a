"""A record of a topic that is no result is an error, not a row of nulls."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from evenkey.kafka.topic_results import _result

SCHEMA = StructType([StructField("user", StringType()), StructField("count", LongType())])


def parsed(spark, *values):
    # Without Python's workers: as Kafka's source, the rows come from Java.
    texts = ("null" if each is None else f"x'{each.hex()}'" for each in values)
    rows = spark.sql(f"select explode(array({', '.join(texts)})) as value")
    result = _result(F.col("value"), SCHEMA, "counts").alias("row")
    return sorted(map(tuple, rows.select(result).select("row.*").collect()), key=str)


def test_results_are_rows(spark):
    values = [b'{"user": "a", "count": 3}', b'{"user": null, "count": 4}', b'{"user": "b"}']
    assert parsed(spark, *values) == [("a", 3), ("b", None), (None, 4)]


@pytest.mark.parametrize(
    "value",
    [None, b"", b"{}", b'{"of": "another program"}', b'{"user": "a", "cou', b"[1]", b"\xff\x00"],
)
def test_another_record_is_an_error(spark, value):
    with pytest.raises(Exception, match="topic 'counts' has a record that is no result"):
        parsed(spark, b'{"user": "a", "count": 3}', value)
