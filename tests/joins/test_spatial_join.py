"""Balanced joins by space equal Spark's cross join with the predicate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
import shapely
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.joins import SpatialMatch, balanced_join, refresh
from tests.tiers import most_in_soak

rng = np.random.default_rng(7)
CORNERS = rng.integers(0, 40, (60, 2))
BOXES = shapely.box(*CORNERS.T, *(CORNERS + rng.integers(1, 12, (60, 2))).T)
SHAPES = np.concatenate([shapely.points(rng.uniform(-3, 50, (80, 2))), BOXES[:20]])


@pytest.fixture(scope="module")
def sides(session):
    stream = pa.table({"p": np.arange(len(SHAPES)), "geometry": shapely.to_wkb(SHAPES)})
    static = pa.table(
        {
            "s": np.arange(len(BOXES)),
            "geometry": shapely.to_wkb(BOXES),
            "relation": ["within" if number % 2 else "overlaps" for number in range(len(BOXES))],
        }
    )
    return session.createDataFrame(stream), session.createDataFrame(static)


def cross_join(stream, static):
    def holds(left: pa.Array, right: pa.Array, relation: pa.Array) -> pa.Array:
        one = shapely.from_wkb(left.to_numpy(zero_copy_only=False))
        other = shapely.from_wkb(right.to_numpy(zero_copy_only=False))
        within = shapely.within(one, other)
        overlaps = shapely.overlaps(one, other)
        return pa.array(np.where(np.array(relation.to_pylist()) == "within", within, overlaps))

    # Spark infers the kind of UDF from the type hints.
    udf = F.arrow_udf(holds, "boolean")  # type: ignore[call-overload]
    right = static.withColumnRenamed("geometry", "other")
    pairs = stream.crossJoin(right).where(udf("geometry", "other", "relation"))
    return sorted(map(tuple, pairs.select("p", "s").collect()))


@pytest.mark.slow(2)
@pytest.mark.parametrize(
    "pipeline", most_in_soak(["sps", "spis", "rihps", "risps"], 2, slow=["spis", "risps"])
)
def test_every_pipeline_equals_sparks_cross_join(sides, pipeline):
    stream, static = sides
    match = SpatialMatch(relation_column="relation", pipeline=pipeline, partitioner="quad-tree")
    joined = balanced_join(stream, static, match, workers=2, partitions=5)
    assert joined.columns == ["p", "s"]
    found = sorted(map(tuple, joined.collect()))
    assert found == cross_join(stream, static)
    assert len(found) > 50


@pytest.mark.slow(4)
def test_one_relation_for_all_and_the_geometry_kept(sides, tmp_path):
    stream, static = sides
    match = SpatialMatch(relation="covered-by", keep_geometry=True)
    plain = static.drop("relation")
    joined = balanced_join(stream, plain, match, workers=2, state=tmp_path)
    assert joined.columns == ["p", "geometry", "s"]
    found = {(row.p, row.s) for row in joined.collect()}
    shapes, boxes = shapely.STRtree(BOXES).query(SHAPES, predicate="covered_by")
    assert found == set(zip(shapes.tolist(), boxes.tolist(), strict=True))
    assert refresh(plain.where("s < 3"), tmp_path) == 2
    again = balanced_join(stream, plain, match, workers=2, state=tmp_path)
    assert {(row.p, row.s) for row in again.collect()} == {pair for pair in found if pair[1] < 3}


class WrittenDeadLetters:
    """Writes dead letters to a directory of the test."""

    def __init__(self, directory):
        self.directory = directory

    def write(self, kind, epoch, part, table):
        pa.feather.write_feather(table, str(self.directory / f"{kind}-{epoch}-{part}"))


DIVIDED = pytest.mark.parametrize(
    "partitions",
    [pytest.param(None, marks=pytest.mark.soak(3)), 8],
    ids=["whole", "divided"],
)


@pytest.mark.slow(3)
@DIVIDED
def test_unusable_geometries_become_dead_letters_or_fail(session, sides, tmp_path, partitions):
    stream, static = sides
    bow_tie = shapely.to_wkb(shapely.Polygon([(0, 0), (40, 40), (40, 0), (0, 40)]))
    odd = session.createDataFrame(
        [(900, bytearray(b"?")), (901, None), (902, bytearray(bow_tie))], stream.schema
    )
    match = SpatialMatch()
    plain = static.drop("relation")
    with pytest.raises(Exception, match="1 rows cannot be joined, the first because"):
        balanced_join(
            odd.where("p = 901"), plain, match, workers=2, partitions=partitions
        ).collect()
    mixed = plain.union(odd)
    joined = balanced_join(
        stream.union(odd),
        mixed,
        match,
        workers=2,
        partitions=partitions,
        dead_letters=WrittenDeadLetters(tmp_path),
    )
    found = {(row.p, row.s) for row in joined.collect()}
    assert (902, 902) in found
    assert not {900, 901} & {number for pair in found for number in pair}
    written = {}
    for kind in ("dead-letters", "static-dead-letters"):
        tables = [pa.feather.read_table(str(file)) for file in tmp_path.glob(f"{kind}-*")]
        written[kind] = sorted(row["reason"] for table in tables for row in table.to_pylist())
    reasons = ["geometry is not well-known binary", "geometry is null"]
    assert written == {"dead-letters": reasons, "static-dead-letters": reasons}


@pytest.mark.slow(3)
@DIVIDED
def test_dead_letters_lie_in_a_store_by_kind_and_epoch(
    session, sides, stream_of_files, run_to_end, tmp_path, partitions
):
    stream, static = sides
    odd = session.createDataFrame([(900, bytearray(b"?")), (901, None)], stream.schema)
    rejected = tmp_path / "rejected"
    joined = balanced_join(
        stream_of_files(stream.union(odd), epochs=2),
        static.drop("relation").union(odd),
        SpatialMatch(),
        workers=2,
        partitions=partitions,
        state=tmp_path / "join",
        dead_letters=rejected.as_uri(),
    )
    run_to_end(joined)
    for kind, epochs in (("dead-letters", {"0", "1"}), ("static-dead-letters", {"1"})):
        rows = session.read.parquet(f"{rejected}/{kind}/*").collect()
        assert sorted(row.reason for row in rows) == [
            "geometry is not well-known binary",
            "geometry is null",
        ]
        assert {str(row.epoch) for row in rows} <= epochs


@pytest.mark.slow(1)
@pytest.mark.parametrize("pipeline", ["spis", "rihps"])
def test_an_empty_static_side_matches_nothing(sides, pipeline):
    stream, static = sides
    nothing = static.drop("relation").where("false")
    match = SpatialMatch(pipeline=pipeline)
    assert balanced_join(stream, nothing, match, workers=2).count() == 0


@pytest.mark.slow(1)
@pytest.mark.parametrize("pipeline", ["spis", "risps"])
def test_a_point_outside_of_everything_static_is_joined_all_the_same(session, sides, pipeline):
    _, static = sides
    far = shapely.to_wkb(shapely.points([[-1e9, 1e9], [1e9, -1e9]]))
    points = pa.table({"p": [0, 1], "geometry": pa.array(far, pa.binary())})
    around = shapely.to_wkb(shapely.box(1e9 - 1, -1e9 - 1, 1e9 + 1, -1e9 + 1))
    beside = session.createDataFrame([(60, bytearray(around))], "s bigint, geometry binary")
    match = SpatialMatch(pipeline=pipeline)
    rows = static.drop("relation").union(beside)
    joined = balanced_join(session.createDataFrame(points), rows, match, workers=2)
    assert [(row.p, row.s) for row in joined.collect()] == [(1, 60)]


def test_invalid_options_are_reported(sides):
    stream, static = sides
    with pytest.raises(ConfigurationError, match="a join by space is 'inner' only"):
        balanced_join(stream, static, SpatialMatch(), "left", workers=2)
    with pytest.raises(ConfigurationError, match="must be well-known binary"):
        balanced_join(stream, static.withColumnRenamed("s", "p"), SpatialMatch("p"), workers=2)
    with pytest.raises(ConfigurationError, match="no column 'shape'"):
        balanced_join(stream, static, SpatialMatch(geometry="shape"), workers=2)
