"""A query with state moves to other workers, and reads its topic on where the old one ended."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from evenkey import spark as eks
from tests.brokers import fill, send
from tests.epochs import run_epochs
from tests.spark.test_rebalance import with_workers

TOPIC = "moved"


class Seen(StatefulProcessor):
    """Counts the records of a user."""

    def init(self, handle):
        self.seen = handle.getValueState("seen", "n long")

    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803 - Spark's names
        before = self.seen.get()[0] if self.seen.exists() else 0
        self.seen.update((before + sum(map(len, rows)),))
        yield pd.DataFrame({"user": [key[0]], "n": [self.seen.get()[0]]})

    def close(self):
        pass


def counting(session, broker, place, workers, offsets):
    """Count the records of the topic from offsets on; return the last count of each user."""
    rows = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.server)
        .option("subscribe", TOPIC)
        .option("startingOffsets", offsets)
        .load()
        .select(F.col("value").cast("string").alias("user"))
    )
    grouped = eks.groupBy(rows, "user", workers=workers, state=place / "state")
    counts = grouped.transformWithStateInPandas(Seen(), "user string, n long", "Update", "None")
    epochs = run_epochs(counts, place / "checkpoint")
    return {row["user"]: row["n"] for each in epochs.values() for row in each.to_pylist()}


@pytest.mark.soak(20)
def test_the_new_query_reads_each_record_that_the_old_one_has_not_read(spark, broker, tmp_path):
    own = spark.newSession()
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    own.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    values = [f"user {number * number % 7}".encode() for number in range(90)]
    fill(broker, TOPIC, values[:60])
    counting(with_workers(own, 2), broker, tmp_path / "old", 2, "earliest")
    send(broker, TOPIC, values[60:])
    checkpoint, place = tmp_path / "old/checkpoint", tmp_path / "new"
    moved = eks.rebalance(own, checkpoint, state=place / "state", workers=3)
    assert moved.positions == ('{"moved":{"0":30,"1":30}}',)
    found = counting(with_workers(own, 3), broker, place, 3, moved.positions[0])
    every = Counter(value.decode() for value in values)
    later = {value.decode() for value in values[60:]}
    assert found == {user: every[user] for user in later}
    assert len(later) > 2
