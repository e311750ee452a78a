"""Differences between versions of Spark: types that are converted, and runs that need 4.2."""

from __future__ import annotations

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from typer.testing import CliRunner

from evenkey.cli import app
from evenkey.spark.sessions import starting as sessions
from evenkey.spark.sessions import versions

INNER = StructType().add("time", TimestampType()).add("n", IntegerType())
SCHEMA = (
    StructType()
    .add("time", TimestampType())
    .add("at", TimestampNTZType())
    .add("of", MapType(StringType(), ArrayType(INNER)))
)


@pytest.fixture
def before_4_2(monkeypatch):
    """Remove the features of Spark 4.2, and make any start of Java an error."""
    monkeypatch.setattr(versions, "_SOURCES", "pyspark.sql.streaming.not_yet")
    monkeypatch.setattr(pyspark, "__version__", "4.1.4")

    def refuse():
        message = "Java was looked for"
        raise AssertionError(message)

    monkeypatch.setattr(sessions, "ensure_java", refuse)


@pytest.mark.usefixtures("before_4_2")
@pytest.mark.parametrize(
    "command",
    [
        "run --dataset country-skew-r80 --messages 1000",
        "compare --dataset country-skew-r80 --messages 1000",
        "join run",
        "run --application naive-bayes --dataset documents --messages 1000",
    ],
)
def test_runs_say_in_one_line_which_spark_they_need(command):
    done = CliRunner().invoke(app, command.split())
    assert done.stderr.strip() == (
        "error: PySpark is 4.1.4: runs from a source to a sink, such as `evenkey run`, need 4.2 or "
        "later; pip install 'pyspark>=4.2'"
    )
    assert done.exit_code == 2


def test_schemas_have_the_zone_at_any_depth():
    schema = versions.to_arrow_schema(SCHEMA, "Asia/Kathmandu")
    zoned = pa.timestamp("us", tz="Asia/Kathmandu")
    assert schema.field("time").type == zoned
    assert schema.field("at").type == pa.timestamp("us")
    assert schema.field("of").type.item_type.value_type.field("time").type == zoned


def test_schemas_come_back_as_they_were():
    assert versions.from_arrow_schema(versions.to_arrow_schema(SCHEMA, "UTC")) == SCHEMA
