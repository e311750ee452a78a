"""In one process, each of the four pipelines finds exactly the pairs of the reference join."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.joins.matching.on import PIPELINES, SpatialMatch
from evenkey.joins.matching.partition_join import CANDIDATES, RELATION
from evenkey.joins.space.geometry import vet
from evenkey.joins.space.pairs import PairsDigest
from evenkey.joins.space.partitioners import kdb, quad_tree
from evenkey.joins.space.reference import reference_digest
from evenkey.joins.space.relations import RELATIONS, codes_of, holds
from evenkey.papers.publish_subscribe.places import (
    PublicationMix,
    Publications,
    draw_subscriptions,
    synthetic_atlas,
)
from tests.tiers import most_in_soak

SUBSCRIPTIONS = draw_subscriptions(synthetic_atlas(), 300, seed=3)
SHAPES = shapely.from_wkb(SUBSCRIPTIONS["geometry"].to_numpy())
BOUNDS = shapely.bounds(SHAPES)
CENTRES = (BOUNDS[:, :2] + BOUNDS[:, 2:]) / 2
STATIC = SUBSCRIPTIONS.drop_columns(["relation"]).append_column(
    RELATION, pa.array(codes_of(SUBSCRIPTIONS["relation"].to_pylist()))
)


def publications(count, clustering=0.5, seed=0):
    mix = PublicationMix(0.6, 0.5, clustering)
    return Publications(synthetic_atlas(), kdb(CENTRES, 8), 4, mix, seed).make(np.arange(count))


def pairs_of(pipeline, leaves, published):
    """Distribute rows, join and compute a digest, with plain loops over partitions."""
    join = PIPELINES[pipeline](
        "geometry", ("publication",), "geometry", leaves.bounds if "p" in pipeline[:3] else None
    )
    streamed = shapely.bounds(shapely.from_wkb(published["geometry"].to_numpy()))
    digest, rows_seen = PairsDigest(), 0
    if pipeline in ("sps", "spis"):
        static_rows, static_parts = leaves.touched(BOUNDS)
        rows, parts = leaves.touched(streamed)
    else:
        static_rows = np.arange(len(BOUNDS))
        by_space = leaves.locate(*CENTRES.T)
        static_parts = by_space if pipeline == "risps" else static_rows % leaves.partitions
        boxes = shapely.STRtree(shapely.box(*BOUNDS.T))
        found, static = boxes.query(shapely.from_wkb(published["geometry"].to_numpy()))
    for partition in range(leaves.partitions):
        mine = static_rows[static_parts == partition]
        prepared = join.prepare(STATIC.take(mine), partition)
        if pipeline in ("sps", "spis"):
            part = published.take(rows[parts == partition])
        else:
            lists: list[list[int]] = [[] for _ in range(published.num_rows)]
            place = {row: number for number, row in enumerate(mine)}
            for row, candidate in zip(found, static, strict=True):
                if candidate in place:
                    lists[row].append(place[candidate])
            part = published.append_column(CANDIDATES, pa.array(lists, pa.list_(pa.int32())))
        rows_seen += part.num_rows
        for piece in join.match(prepared, part):
            digest.add(piece["publication"].to_numpy(), piece["subscription"].to_numpy())
    assert rows_seen >= published.num_rows
    return digest


@pytest.mark.slow(1)
@pytest.mark.parametrize("partitioner", most_in_soak([kdb, quad_tree], 1, slow=[quad_tree]))
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_pipeline_finds_the_pairs_of_the_reference(pipeline, partitioner):
    published = publications(400)
    expected = reference_digest(published, SUBSCRIPTIONS)
    assert expected.pairs > 200
    assert pairs_of(pipeline, partitioner(CENTRES, 7), published) == expected


@pytest.mark.slow(2)
def test_pairs_are_cut_into_pieces(monkeypatch):
    published = publications(100)
    expected = reference_digest(published, SUBSCRIPTIONS)
    monkeypatch.setattr("evenkey.joins.matching.by_space._PAIRS", 17)
    for pipeline in PIPELINES:
        assert pairs_of(pipeline, kdb(CENTRES, 3), published) == expected


corners = st.tuples(*[st.integers(0, 4)] * 4)


@pytest.mark.slow(2)
@given(st.lists(st.tuples(corners, corners), min_size=1, max_size=20))
def test_relations_are_those_of_shapely(pairs):
    def shape(corner):
        x, y, width, height = corner
        return shapely.box(x, y, x + width, y + height) if width and height else shapely.Point(x, y)

    streamed = np.array([shape(one) for one, _ in pairs])
    static = np.array([shape(other) for _, other in pairs])
    for code, name in enumerate(RELATIONS):
        found = holds(streamed, static, np.full(len(pairs), code, dtype=np.int8))
        test = getattr(shapely, name.replace("-", "_"))
        assert list(found) == [bool(test(a, b)) for a, b in zip(streamed, static, strict=True)]


def test_unknown_names_are_reported():
    with pytest.raises(ConfigurationError, match="did you mean 'within'"):
        codes_of(["withn"])
    with pytest.raises(ConfigurationError, match="pipeline = 'sp': must be"):
        SpatialMatch(pipeline="sp")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="partitioner = 'grid': must be"):
        SpatialMatch(partitioner="grid")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="geometry and relation_column are both"):
        SpatialMatch(relation_column="geometry")


def test_geometries_are_repaired_or_have_a_reason():
    bow_tie = shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
    given_wkb = [
        shapely.to_wkb(bow_tie),
        shapely.to_wkb(shapely.Point(1, 2)),
        None,
        b"broken",
        shapely.to_wkb(shapely.Point()),
        shapely.to_wkb(shapely.Point(np.inf, 0)),
        shapely.to_wkb(shapely.LineString()),
    ]
    vetted = vet(np.array(given_wkb, dtype=object))
    assert list(vetted.good) == [True, True] + [False] * 5
    assert list(vetted.repaired) == [0]
    assert vetted.geometries[0].is_valid
    assert shapely.area(vetted.geometries[0]) == 2
    reasons = [None if each is None else each.removeprefix("geometry ") for each in vetted.reasons]
    assert reasons[2:4] == ["is null", "is not well-known binary"]
    assert reasons[4] in ("is empty", "has infinite coordinates")
    assert reasons[5] == "has infinite coordinates"
    assert reasons[6] == "is empty"
