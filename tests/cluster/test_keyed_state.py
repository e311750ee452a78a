"""Keyed state on separate hosts, with S3 and HDFS: exact from another host, and through kills."""

from __future__ import annotations

import contextlib
import time

import pytest

from tests.cluster.spark_cluster import PLACES, SparkCluster, through

pytestmark = [pytest.mark.soak(200), pytest.mark.timeout(3600)]

STOP, LATER = 3000, 5000


@pytest.fixture
def breakable_hdfs(tmp_path):
    """Start a cluster with HDFS for one test, which may break it."""
    with SparkCluster(tmp_path, storage=["hdfs"]) as running:
        yield running


@pytest.mark.parametrize("kind", PLACES)
def test_states_that_move_go_on_from_another_host(cluster, kind):
    """The number of workers changes in each epoch, so that states move to other hosts."""
    ways = {"states": {}, "merging states": {"merge": True}}

    def go_on(on, epochs):
        at = f"{PLACES[kind]}/keyed"
        calls = {
            name: (
                "stateful_counts",
                {"at": f"{at}/{name.replace(' ', '-')}", "epochs": epochs[name], **given},
            )
            for name, given in ways.items()
        }
        return cluster.drive_all(calls, on)

    found = go_on("driver", dict.fromkeys(ways, 4))
    went_on = go_on("driver2", {name: each["epochs"] + 4 for name, each in found.items()})
    for name in ways:
        for each in (found[name], went_on[name]):
            assert each["counts"] == each["expected"], name
            # One result of each user in each epoch.
            assert each["results"] == [[each["epochs"]] * 2], name
        assert went_on[name]["epochs"] > found[name]["epochs"]


def test_states_are_exact_after_a_worker_was_lost(breakable_cluster):
    """The host of half of the slots is lost with its cache, and comes back with an empty disk."""
    cluster, at = breakable_cluster, f"{PLACES['s3']}/lost"

    def lose():
        deadline = time.monotonic() + 300
        while cluster.objects("lost/states/queries") < 20 and time.monotonic() < deadline:
            time.sleep(1)
        cluster.hosts.lose("worker2")
        cluster.hosts.start_host("worker2")
        cluster.start_worker("worker2")

    found = through(lose, lambda: cluster.drive("stateful_counts", at=at, epochs=12))
    assert found["epochs"] >= 12
    assert found["counts"] == found["expected"]
    assert found["results"] == [[found["epochs"]] * 2]


def test_a_state_is_rebalanced_on_hdfs_through_a_lost_driver(breakable_hdfs):
    """On S3, RocksDB never ends: see `tests/cluster/test_one_engine.py`."""
    cluster = breakable_hdfs
    at = f"{PLACES['hdfs']}/rebalanced"
    place = {"at": at, "old": "old", "new": "new"}
    counted = cluster.drive("counts_up_to", at=at, folder="old", stop=STOP)
    assert counted["counts"] == counted["expected"]

    def lose():
        time.sleep(25)  # a session starts in some 15 seconds
        cluster.hosts.lose("driver")
        cluster.hosts.start_host("driver")

    def lost():
        # On an idle machine the move may end before its host is lost.
        with contextlib.suppress(AssertionError):
            cluster.drive("moved", **place, workers=4)

    through(lose, lost)
    record = cluster.drive("moved", on="driver2", **place, workers=4)
    assert record["states"] == len(counted["expected"])
    found = cluster.drive(
        "counts_up_to",
        on="driver2",
        at=at,
        folder="new",
        stop=LATER,
        start=record["positions"][0],
    )
    assert found["counts"] == found["expected"]
