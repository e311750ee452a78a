"""Generated skew by the owners of candidates, for pipelines with a replicated index."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import shapely
from pyspark.sql import functions as F

from evenkey.joins.space.partitioners import kdb
from evenkey.papers.publish_subscribe import JoinConfig, run_join
from evenkey.papers.publish_subscribe.places import (
    CandidateOwners,
    PublicationMix,
    Publications,
    draw_subscriptions,
    synthetic_atlas,
)
from evenkey.papers.publish_subscribe.places.owners import PlaceRows, chances
from tests.tiers import most_in_soak

WORKERS, PARTITIONS = 16, 64


@pytest.fixture(scope="module")
def atlas():
    return synthetic_atlas()


@pytest.fixture(scope="module")
def subscriptions(atlas):
    return draw_subscriptions(atlas, 2000)


@pytest.fixture(scope="module")
def leaves(subscriptions):
    bounds = shapely.bounds(shapely.from_wkb(subscriptions["geometry"].to_numpy()))
    return kdb((bounds[:, :2] + bounds[:, 2:]) / 2, PARTITIONS)


def drawn(atlas, leaves, owners, skew, count=6000, seed=0):
    mix = PublicationMix(skew, polygons=0.3, clustering=1)
    return Publications(atlas, leaves, WORKERS, mix, seed, owners=owners).make(np.arange(count))


def naive_skew(publications, subscriptions, partition_of):
    """Return the share of the rows that go to workers 0 to 2, counted pair by pair."""
    envelopes = [shapely.bounds(each) for each in shapely.from_wkb(subscriptions["geometry"])]
    left, bottom, right, top = np.array(envelopes).T
    rows = np.zeros(WORKERS)
    for each in shapely.from_wkb(publications["geometry"].to_numpy()):
        low_x, low_y, high_x, high_y = shapely.bounds(each)
        # The index compares the geometry itself, not only its envelope.
        near = (left <= high_x) & (right >= low_x) & (bottom <= high_y) & (top >= low_y)
        boxes = shapely.box(left[near], bottom[near], right[near], top[near])
        met = np.flatnonzero(near)[shapely.intersects(boxes, each)]
        for partition in set(partition_of[met].tolist()):
            rows[partition % WORKERS] += 1
    return rows[:3].sum() / rows.sum()


@pytest.mark.slow(1)
@pytest.mark.parametrize("by_hash", [False, True])
@pytest.mark.parametrize("skew", most_in_soak([3 / 16, 0.3, 0.4], 1, slow=[0.3]))
def test_a_share_of_the_rows_goes_to_3_of_16_workers(atlas, subscriptions, leaves, by_hash, skew):
    owners = CandidateOwners.of(subscriptions, leaves, PARTITIONS, by_hash=by_hash)
    made = drawn(atlas, leaves, owners, skew, count=2000)
    assert naive_skew(made, subscriptions, owners.partition_of) == pytest.approx(skew, abs=0.02)


def test_hash_partitions_cannot_be_skewed_as_far(atlas, subscriptions, leaves):
    """So says the paper about RIhPS; RIsPS reaches the given skew."""
    far = []
    for by_hash in (False, True):
        owners = CandidateOwners.of(subscriptions, leaves, PARTITIONS, by_hash=by_hash)
        made = drawn(atlas, leaves, owners, 0.7, count=1500)
        far.append(naive_skew(made, subscriptions, owners.partition_of))
    assert far[0] == pytest.approx(0.7, abs=0.03)
    assert 0.4 < far[1] < 0.6


def test_skew_changes_neither_the_mix_nor_what_is_one_place(atlas, subscriptions, leaves):
    owners = CandidateOwners.of(subscriptions, leaves, PARTITIONS, by_hash=True)
    for skew in (3 / 16, 0.7):
        made = shapely.from_wkb(drawn(atlas, leaves, owners, skew)["geometry"].to_numpy())
        assert np.mean(shapely.get_dimensions(made) == 2) == pytest.approx(0.3, abs=0.03)
        centres = shapely.get_coordinates(shapely.centroid(made)).round(1)
        assert len({tuple(each) for each in centres.tolist()}) > 20


def test_any_range_can_be_made_again(atlas, subscriptions, leaves):
    owners = CandidateOwners.of(subscriptions, leaves, PARTITIONS, by_hash=True)
    mix = PublicationMix(0.3)
    made = Publications(atlas, leaves, WORKERS, mix, owners=owners)
    whole = made.make(np.arange(300))
    assert whole.slice(100, 50).to_pylist() == made.make(np.arange(100, 150)).to_pylist()


def test_subscriptions_lie_where_spark_hashes_them(spark, subscriptions, leaves):
    owners = CandidateOwners.of(subscriptions, leaves, PARTITIONS, by_hash=True)
    df = spark.createDataFrame(subscriptions)
    hashed = df.select(F.pmod(F.xxhash64(*df.columns), F.lit(PARTITIONS)).alias("partition"))
    assert owners.partition_of.tolist() == hashed.toArrow()["partition"].to_pylist()


@pytest.mark.parametrize("skew", [0.1, 0.25, 0.6])
def test_chances_give_the_share_and_keep_the_groups(skew):
    random = np.random.default_rng(1)
    rows = random.integers(1, 9, 500).astype(float)
    hot = random.binomial(rows.astype(int), 0.25).astype(float)
    group = random.integers(0, 2, 500)
    usual = np.full(500, 1 / 500)
    found = chances(PlaceRows(usual, rows, hot, group), skew)
    assert found.sum() == pytest.approx(1)
    assert found @ hot / (found @ rows) == pytest.approx(skew)
    expected = np.bincount(group, usual)
    np.testing.assert_allclose(np.bincount(group, found), expected)


def test_places_without_candidates_are_drawn_as_usual():
    usual = np.array([0.25, 0.75])
    nothing = np.zeros(2)
    group = np.zeros(2, dtype=np.int64)
    assert chances(PlaceRows(usual, nothing, nothing, group), 0.7).tolist() == [0.25, 0.75]


@pytest.mark.soak
@pytest.mark.classic("the command line's own run")
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("pipeline", ["rihps", "risps"])
def test_a_run_says_how_skewed_it_was(pipeline):
    report = run_join(
        JoinConfig(
            pipeline=pipeline,
            mode="static-stal",
            skew=0.4,
            publications=1500,
            subscriptions=600,
            epochs=2,
            verify=True,
        )
    )
    assert report.pairs_digest == report.expected_digest
    assert report.realised_skew == pytest.approx(0.4, abs=0.04)
    figures = report.to_json()
    assert (figures["skew"], figures["realised_skew"]) == (0.4, report.realised_skew)
    # In a static mode no partition moves, so the items of the slots show the skew too.
    loads = np.sum([each.items for each in report.epochs], axis=0)
    assert loads[:3].sum() / loads.sum() == pytest.approx(report.realised_skew)


def test_the_table_of_subscriptions_may_be_chunked(subscriptions, leaves):
    chunked = pa.concat_tables([subscriptions.slice(0, 700), subscriptions.slice(700)])
    one, other = (
        CandidateOwners.of(each, leaves, PARTITIONS, by_hash=True).partition_of
        for each in (subscriptions, chunked)
    )
    np.testing.assert_array_equal(one, other)
