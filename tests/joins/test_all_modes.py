"""Every pipeline in every mode finds the pairs of a single tree in one process."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import pytest
import shapely

from evenkey.joins.matching.on import PIPELINES
from evenkey.joins.space.pairs import PairsDigest
from evenkey.joins.space.reference import reference_digest
from evenkey.papers.publish_subscribe import MODES
from evenkey.papers.publish_subscribe.places import (
    PublicationMix,
    Publications,
    draw_subscriptions,
    synthetic_atlas,
)
from evenkey.spark.slots.cache import process_cache
from tests.joins.without_spark import Join, leaves_of
from tests.tiers import most_in_soak

PARTITIONS, WORKERS, EPOCHS, FORCED = 12, 4, 4, 2
SUBSCRIPTIONS = draw_subscriptions(synthetic_atlas(), 300, seed=5)
EVERY_MODE = pytest.mark.parametrize(
    ("pipeline", "mode"),
    most_in_soak(
        itertools.product(PIPELINES, MODES),
        1,
        slow=[*(("spis", mode) for mode in MODES), ("rihps", "dynamic-lb-stal")],
    ),
)
"""Each mode with one pipeline, and a pipeline of the other kind."""


@pytest.fixture(scope="module")
def published():
    mix = PublicationMix(0.7, 0.4, 0.5)
    leaves = leaves_of(SUBSCRIPTIONS, PARTITIONS)
    return Publications(synthetic_atlas(), leaves, WORKERS, mix, 5).make(np.arange(800))


@pytest.fixture(scope="module")
def expected(published):
    return reference_digest(published, SUBSCRIPTIONS)


@pytest.mark.slow(1)
@EVERY_MODE
def test_the_pairs_are_those_of_one_process(
    pipeline, mode, published, expected, tmp_path, monkeypatch
):
    process_cache(1 << 30).drop(lambda _: True)
    sizes = {"partitions": PARTITIONS, "workers": WORKERS}
    join = Join(tmp_path, SUBSCRIPTIONS, pipeline, mode, **sizes, forced=(FORCED,))
    digest, share = PairsDigest(), published.num_rows // EPOCHS
    for epoch in range(EPOCHS):
        join.run(monkeypatch, epoch, published.slice(epoch * share, share), digest)
    assert str(digest) == str(expected)
    assert digest.pairs > 300
    plans = [join.log.plan(epoch) for epoch in range(EPOCHS)]
    moved = [set(plan.moved) for plan in plans if plan]
    dynamic = mode.startswith("dynamic")
    assert [epoch for epoch in range(EPOCHS) if moved[epoch]] == ([FORCED] if dynamic else [])
    loaded = [
        {partition for record in join.log.records(epoch) for partition in record.loaded}
        for epoch in range(EPOCHS)
    ]
    used = [
        {partition for record in join.log.records(epoch) for partition in record.work}
        for epoch in range(EPOCHS)
    ]
    if mode.endswith("strl"):
        assert loaded == used
        return
    # A partition is loaded when it is first used, and again after a move.
    seen: set[int] = set()
    for epoch in range(EPOCHS):
        seen -= moved[epoch]
        assert loaded[epoch] == used[epoch] - seen
        seen |= used[epoch]


def one_heavy(work):
    """Return loads in which the largest partition has half of the total."""
    loads = work.items.astype(float)
    loads[loads.argmax()] = loads.sum()
    return loads


@pytest.mark.slow(1)
@pytest.mark.parametrize("pipeline", most_in_soak(PIPELINES, 1, slow=["spis", "risps"]))
def test_the_pairs_are_the_same_when_a_partition_is_copied(
    pipeline, published, expected, tmp_path, monkeypatch
):
    process_cache(1 << 30).drop(lambda _: True)
    sizes = {"partitions": PARTITIONS, "workers": WORKERS}
    options = {**sizes, "forced": (FORCED,), "heavy": one_heavy}
    join = Join(tmp_path, SUBSCRIPTIONS, pipeline, "dynamic-db-stal", **options)
    digest, share = PairsDigest(), published.num_rows // EPOCHS
    for epoch in range(EPOCHS):
        join.run(monkeypatch, epoch, published.slice(epoch * share, share), digest)
    assert str(digest) == str(expected)
    plan, records = join.log.plan(FORCED), join.log.records(FORCED)
    assert plan
    (partition,) = plan.copies
    slots = {record.slot for record in records if partition in record.work}
    assert slots == {*plan.copies[partition]}
    # The owner still has it. Each other slot loads a copy, which counts as a move.
    loads = sum(partition in record.loaded for record in records)
    assert loads == plan.moved.count(partition) == len(slots) - 1 > 0


@pytest.mark.slow(1)
@pytest.mark.parametrize("pipeline", most_in_soak(PIPELINES, 1, slow=["spis", "risps"]))
def test_the_pairs_survive_a_lost_process_and_a_refresh(
    pipeline, published, expected, tmp_path, monkeypatch
):
    sizes = {"partitions": PARTITIONS, "workers": WORKERS}
    join = Join(tmp_path, SUBSCRIPTIONS, pipeline, "dynamic-lb-stal", **sizes, forced=(FORCED,))
    digest, share = PairsDigest(), published.num_rows // EPOCHS
    for epoch in range(EPOCHS):
        if epoch == 1:
            process_cache(1 << 30).drop(lambda _: True)
        if epoch == EPOCHS - 1:
            join.refresh(SUBSCRIPTIONS.take(np.arange(SUBSCRIPTIONS.num_rows)[::-1]))
        join.run(monkeypatch, epoch, published.slice(epoch * share, share), digest)
    assert str(digest) == str(expected)
    plans = [join.log.plan(epoch) for epoch in range(EPOCHS)]
    assert [plan and plan.version.number for plan in plans] == [1, 1, 1, 2]


@pytest.mark.slow(1)
@pytest.mark.parametrize("pipeline", most_in_soak(PIPELINES, 1, slow=["spis", "risps"]))
def test_a_refresh_changes_the_pairs_from_the_next_epoch_on(
    pipeline, published, tmp_path, monkeypatch
):
    sizes = {"partitions": PARTITIONS, "workers": WORKERS}
    join = Join(tmp_path, SUBSCRIPTIONS, pipeline, "static-stal", **sizes)
    fewer, half = SUBSCRIPTIONS.slice(0, 100), published.num_rows // 2
    parts = [published.slice(0, half), published.slice(half)]
    for epoch, static in enumerate((SUBSCRIPTIONS, fewer)):
        if epoch:
            join.refresh(static)
        digest = PairsDigest()
        join.run(monkeypatch, epoch, parts[epoch], digest)
        assert str(digest) == str(reference_digest(parts[epoch], static))


@pytest.mark.slow(1)
@EVERY_MODE
def test_a_directory_that_is_made_anew_in_one_process_joins_the_new_rows(
    pipeline, mode, published, tmp_path, monkeypatch
):
    sizes = {"partitions": PARTITIONS, "workers": WORKERS}
    some = published.slice(0, 200)
    for static in (SUBSCRIPTIONS, SUBSCRIPTIONS.slice(0, 100)):
        shutil.rmtree(tmp_path)
        join, digest = Join(tmp_path, static, pipeline, mode, **sizes), PairsDigest()
        join.run(monkeypatch, 0, some, digest)
        assert str(digest) == str(reference_digest(some, static))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_publication_of_several_partitions_is_one_item(
    pipeline, published, tmp_path, monkeypatch
):
    sizes = {"partitions": PARTITIONS, "workers": WORKERS}
    join = Join(tmp_path, SUBSCRIPTIONS, pipeline, "dynamic-db-stal", **sizes)
    some = published.slice(0, 200)
    for epoch in (0, 1):
        join.run(monkeypatch, epoch, some, PairsDigest())
    plan = join.log.plan(1)
    came = sum(work[0] for record in join.log.records(0) for work in record.work.values())
    envelopes = shapely.from_wkb(SUBSCRIPTIONS["geometry"].to_numpy())
    geometries = shapely.from_wkb(some["geometry"].to_numpy())
    found, _ = shapely.STRtree(shapely.envelope(envelopes)).query(shapely.envelope(geometries))
    candidates = len(set(found.tolist()))
    # Partitions of space get every publication; an index sends only those with a candidate.
    expected = some.num_rows if pipeline in ("sps", "spis") else candidates
    assert plan
    assert plan.window.items == expected < came
