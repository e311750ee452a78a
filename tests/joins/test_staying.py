"""A small static side is complete in every worker, so rows of the stream are not shuffled."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pytest
import shapely
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.joins import DynamicDistributor, SpatialMatch, balanced_join, refresh
from tests.spark.oracle import plan_of

rng = np.random.default_rng(11)
CORNERS = rng.uniform(0, 40, (50, 2))
BOXES = shapely.box(*CORNERS.T, *(CORNERS + rng.uniform(1, 12, (50, 2))).T)
POINTS = shapely.points(rng.uniform(-3, 55, (300, 2)))
WITHIN = SpatialMatch(relation="within")
SAYS = "every worker holds it whole"


@pytest.fixture(scope="module")
def sides(session):
    stream = pa.table({"p": np.arange(len(POINTS)), "geometry": shapely.to_wkb(POINTS)})
    static = pa.table({"s": np.arange(len(BOXES)), "geometry": shapely.to_wkb(BOXES)})
    return session.createDataFrame(stream), session.createDataFrame(static)


def expected(boxes=50):
    points, found = shapely.STRtree(BOXES[:boxes]).query(POINTS, predicate="within")
    return set(zip(points.tolist(), found.tolist(), strict=True))


def pairs(rows):
    found = [(row["p"], row["s"]) for row in rows]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.slow(1)
@pytest.mark.parametrize("pipeline", ["sps", "spis"])
def test_rows_are_joined_where_they_are(sides, caplog, pipeline):
    stream, static = sides
    spread = stream.repartition(5).withColumn("from", F.spark_partition_id())
    match = SpatialMatch(relation="within", pipeline=pipeline)
    with caplog.at_level(logging.WARNING, "evenkey"):
        joined = balanced_join(spread, static, match, workers=2)
    assert [SAYS in record.getMessage() for record in caplog.records] == [True]
    assert "pass partitions=8" in caplog.records[0].getMessage()
    rows = joined.withColumn("at", F.spark_partition_id()).collect()
    assert pairs(rows) == expected()
    assert {row["from"] - row["at"] for row in rows} == {0}
    assert len({row["at"] for row in rows}) == 5
    assert plan_of(balanced_join(stream, static, match)).count("Exchange") == 0


@pytest.mark.slow(5)
def test_a_stream_takes_a_refresh_up_from_its_next_epoch_on(
    sides, stream_of_files, run_to_end, tmp_path
):
    stream, static = sides
    state = tmp_path / "join"
    rows = stream_of_files(stream, epochs=4)
    joined = balanced_join(rows, static, WITHIN, workers=2, state=state)

    def after_epoch(epoch):
        if epoch == 1:
            assert refresh(static.where("s < 9"), state) == 2

    epochs = run_to_end(joined, after_epoch=after_epoch)
    assert len(epochs) == 4
    early = pairs([row for epoch in (0, 1) for row in epochs[epoch]])
    late = pairs([row for epoch in (2, 3) for row in epochs[epoch]])
    assert early | late <= expected()
    assert late <= expected(boxes=9)
    assert {pair for pair in early | late if pair[1] < 9} == expected(boxes=9)
    assert max(number for _, number in early) >= 9
    assert not [*(state / "epochs").rglob("slot-*")]
    again = balanced_join(stream, static, WITHIN, workers=3, state=state)
    assert pairs(again.collect()) == expected(boxes=9)


def divided(joined):
    return "REPARTITION" in plan_of(joined)


@pytest.mark.slow(7)
def test_it_is_chosen_where_it_helps_alone(sides, caplog, tmp_path):
    stream, static = sides
    with caplog.at_level(logging.WARNING, "evenkey"):
        for how in (
            {"cache_bytes": 50_000},  # the static side takes 20,000
            {"partitions": 6},
            {"distributor": DynamicDistributor()},
            {"cache_static": False},
            {"then": lambda joined: joined, "schema": "p bigint, s bigint"},
        ):
            assert divided(balanced_join(stream, static, WITHIN, workers=2, **how)), how
        by_candidates = SpatialMatch(relation="within", pipeline="risps")
        assert divided(balanced_join(stream, static, by_candidates, workers=2))
        kept = tmp_path / "divided"
        balanced_join(stream, static, WITHIN, workers=2, partitions=8, state=kept)
        assert divided(balanced_join(stream, static, WITHIN, workers=2, state=kept))
        assert not caplog.records
        asked = balanced_join(stream, static, WITHIN, workers=2, partitions=1, cache_bytes=0)
    assert not caplog.records
    assert not divided(asked)
    assert pairs(asked.collect()) == expected()


def test_one_partition_does_for_no_other_join(sides):
    stream, static = sides
    says = "partitions = 1: 2 workers need at least one each"
    by_candidates = SpatialMatch(relation="within", pipeline="rihps")
    for match in (by_candidates, WITHIN):
        with pytest.raises(ConfigurationError, match=says):
            balanced_join(
                stream, static, match, workers=2, partitions=1, distributor=DynamicDistributor()
            )
    with pytest.raises(ConfigurationError, match=says):
        balanced_join(stream, static, by_candidates, workers=2, partitions=1)
