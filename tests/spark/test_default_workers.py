"""With a plan in `state`, an operator has the plan's number of workers, whatever the session's."""

from __future__ import annotations

import pandas as pd
import pytest
from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.core.errors import ConfigurationError

FIRST, LATER = 4, 3


@pytest.fixture
def own(session):
    if not hasattr(session, "newSession"):
        pytest.skip("the settings of a Connect session reach other tests")
    return session.newSession()


def orders(own):
    return own.range(400).selectExpr("if(id % 2 = 0, 7, id % 20) as k", "id as v")


@pytest.mark.slow(5)
def test_a_group_by_keeps_the_slots_of_its_plan(own, tmp_path, monkeypatch):
    seen = []
    for slots in (FIRST, LATER):
        monkeypatch.setattr("evenkey.spark.groups.rows.slots_of", lambda _, slots=slots: slots)
        grouped = eks.groupBy(orders(own), "k", grouping="whole", state=tmp_path)
        found = grouped.applyInPandas(lambda rows: rows[["k"]].head(1), "k long")
        seen.append(sorted(row["k"] for row in found.collect()))
        assert grouped.rows.workers == FIRST
    assert seen[0] == seen[1]
    with pytest.raises(ConfigurationError, match=f"with {FIRST} workers"):
        eks.groupBy(
            orders(own), "k", workers=LATER, grouping="whole", state=tmp_path
        ).applyInPandas(lambda rows: rows[["k"]], "k long")


@pytest.mark.slow(12)
@pytest.mark.parametrize("operator", ["join", "over", "asof_join"])
def test_an_operator_keeps_the_partitions_of_its_plan(own, tmp_path, operator, monkeypatch):
    # With one slot, the default is one worker.
    monkeypatch.setattr("evenkey.spark.sessions.task_slots.slots_of", lambda _: 2)
    own.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    rows = orders(own)
    more = {
        "join": (rows.withColumnRenamed("v", "w"), "k"),
        "over": ("k", "v", {"n": F.row_number()}),
        "asof_join": (rows.withColumnRenamed("v", "w"), "k", "v", "w"),
    }[operator]
    results = []
    for partitions in (FIRST, LATER):
        own.conf.set("spark.sql.shuffle.partitions", str(partitions))
        found = getattr(eks, operator)(rows, *more, state=tmp_path)
        results.append(sorted(tuple(row) for row in found.collect()))
    assert results[0] == results[1]


def test_a_stream_keeps_the_number_of_its_pinned_plan(own, tmp_path):
    clicks = own.readStream.format("rate").load().selectExpr("value % 9 as k")

    def started():
        def none(_key, _batches, _state):
            yield pd.DataFrame({"k": []})

        grouped = eks.groupBy(clicks, "k", state=tmp_path)
        return grouped.applyInPandasWithState(none, "k long", "n long", "update", "NoTimeout")

    own.conf.set("spark.sql.shuffle.partitions", str(FIRST))
    started()
    own.conf.set("spark.sql.shuffle.partitions", str(LATER))
    expected = f"spark.sql.shuffle.partitions = {LATER}: .* set it to {FIRST}"
    with pytest.raises(ConfigurationError, match=expected):
        started()
    pinned = next(tmp_path.glob("whole/pinned/table-*.npz"))
    pinned.write_bytes(b"no table")
    with pytest.raises(ConfigurationError, match=expected):
        started()
    own.conf.set("spark.sql.shuffle.partitions", str(FIRST))
    started()
