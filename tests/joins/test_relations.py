"""The direction of a relation: from the stream or, as in the predecessor, from the static side."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.joins import SpatialMatch, balanced_join
from evenkey.joins.space.relations import RELATIONS, codes_of, holds, mirrored
from evenkey.papers.publish_subscribe import JoinConfig, run_join

SHAPES = np.array(
    [
        *(shapely.Point(1, 1), shapely.Point(0, 1), shapely.LineString([(-1, 1), (1, 1)])),
        *(shapely.box(0, 0, 2, 2), shapely.box(0, 0, 1, 1), shapely.box(1, 1, 3, 3)),
        *(shapely.box(2, 0, 4, 2), shapely.box(0.5, 0.5, 1.5, 1.5)),
    ]
)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_mirrored_relation_is_that_of_the_other_side(relation):
    one, other = (each.ravel() for each in np.meshgrid(SHAPES, SHAPES))
    codes = np.repeat(codes_of([relation]), len(one))
    test = getattr(shapely, relation.replace("-", "_"))
    assert test(one, other).any()
    np.testing.assert_array_equal(holds(one, other, codes), test(one, other))
    np.testing.assert_array_equal(holds(one, other, mirrored(codes)), test(other, one))


@pytest.mark.slow(1)
@pytest.mark.parametrize("subject", ["stream", "static"])
def test_a_join_reads_relations_from_their_subject(spark, subject):
    encoded = [bytes(each) for each in shapely.to_wkb(SHAPES)]
    stream = spark.createDataFrame(list(enumerate(encoded)), "p int, geometry binary")
    rows = [(s, relation, each) for s, each in enumerate(encoded) for relation in RELATIONS]
    static = spark.createDataFrame(
        [(f"{s} {relation}", relation, each) for s, relation, each in rows],
        "s string, relation string, geometry binary",
    )
    match = SpatialMatch(relation_column="relation", subject=subject)
    found = {(row.p, row.s) for row in balanced_join(stream, static, match, workers=2).collect()}
    expected = {
        (p, f"{s} {relation}")
        for relation in RELATIONS
        for p, published in enumerate(SHAPES)
        for s, subscribed in enumerate(SHAPES)
        if getattr(shapely, relation.replace("-", "_"))(
            *((published, subscribed) if subject == "stream" else (subscribed, published))
        )
    }
    assert found == expected


def test_there_are_two_subjects():
    with pytest.raises(ConfigurationError, match="subject = 'both': must be 'stream' or 'static'"):
        SpatialMatch(subject="both")  # type: ignore[arg-type]


def test_stores_of_before_are_what_they_were():
    assert "subject" not in SpatialMatch().to_json()
    assert SpatialMatch(subject="static").to_json()["subject"] == "static"


@pytest.mark.soak
@pytest.mark.classic("the command line's own run")
@pytest.mark.usefixtures("spark")
def test_a_pipeline_reads_subscription_relation_publication():
    """A point lies in polygons: seen from them the relation is "contains", else "within"."""
    config = JoinConfig(
        publications=300, polygon_share=0, subscriptions=200, workers=2, epochs=1, verify=True
    )
    reports = {
        subject: run_join(config.with_options(relation_subject=subject))
        for subject in ("subscription", "publication")
    }
    assert config.relation_subject == "subscription"
    for report in reports.values():
        assert report.pairs_digest == report.expected_digest
    one, other = (report.pairs_digest for report in reports.values())
    assert one != other
