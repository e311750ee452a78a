"""The number of partitions of Spark's shuffles, also if the platform chooses it."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.streaming import StatefulProcessor

from evenkey import spark as eks
from evenkey.core.errors import ConfigurationError
from evenkey.spark.sessions.task_slots import shuffle_partitions

pytestmark = pytest.mark.classic("the setting is replaced in the class of a classic session")


@pytest.fixture
def auto(spark, monkeypatch):
    """Let a session answer as on Databricks; open-source Spark allows numbers only."""
    get = RuntimeConfig.get

    def found(conf, key, *default):
        return "auto" if key == "spark.sql.shuffle.partitions" else get(conf, key, *default)

    monkeypatch.setattr(RuntimeConfig, "get", found)
    return spark


def test_partitions_that_the_platform_chooses_count_as_by_default(auto):
    assert shuffle_partitions(auto) == 200


@pytest.mark.slow(8)
@pytest.mark.parametrize("operator", ["groupBy", "join", "over", "partition_for_write"])
def test_operators_are_explained_where_the_platform_chooses(auto, operator):
    rows = auto.range(100).selectExpr("id % 3 as key", "id")
    more = {
        "groupBy": ("key",),
        "join": (rows.withColumnRenamed("id", "other"), "key"),
        "over": ("key", "id", {"n": F.row_number()}),
        "partition_for_write": ("key", 2),
    }
    assert str(eks.explain(getattr(eks, operator), rows, *more[operator]))


def test_a_stream_that_needs_as_many_partitions_as_workers_says_so(auto, tmp_path):
    clicks = auto.readStream.format("rate").load().selectExpr("value % 3 as key", "0 as worker")
    ways = {
        "by='split'": lambda: eks.place(clicks, workers=200, by="split", key="key"),
        "transformWithStateInPandas": lambda: eks.groupBy(
            clicks, "key", workers=200, state=tmp_path
        ).transformWithStateInPandas(Nothing(), "key long", "Update", "None"),
    }
    for operator, way in ways.items():
        expected = f"spark.sql.shuffle.partitions = auto: {operator} needs .* set it to 200"
        with pytest.raises(ConfigurationError, match=expected):
            way()


class Nothing(StatefulProcessor):
    """A processor that is never called."""

    def init(self, handle):
        del handle

    def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803 - Spark's names
        raise NotImplementedError
