"""One engine on separate hosts: state on S3 and on HDFS, exact, level, and through faults."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest

from evenkey.streams import CountrySkew
from tests.cluster.spark_cluster import PLACES, through
from tests.servers import ROOT

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1800),
]

GROUPINGS = ["pkg", "dkg", "planned"]
MESSAGES = 200_000
STREAM = "country-skew-r80"
ABROAD = "worker[12]|driver2?"


def command(grouping, output, *more):
    sizes = ["--workers", "4", "--messages", str(MESSAGES), "--epochs", "4"]
    return [
        *("run", "--dataset", STREAM, "--grouping", grouping, *sizes),
        *("--output", output, "--json", *more),
    ]


def expected():
    """Count the stream's own messages."""
    stream = CountrySkew(80)
    return Counter(stream.texts(stream.batch(0, MESSAGES).ids).to_pylist())


def exact(cluster, done, output, on="driver"):
    """Hold a run's results against the count of its input; give its report."""
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    report = json.loads(done.stdout)
    assert cluster.drive("counts_of", on=on, output=output) == expected()
    assert report["metrics"]["messages"] == MESSAGES
    return report


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_run_is_exact_and_as_level_as_on_one_machine(cluster, grouping, kind):
    output = f"{PLACES[kind]}/run-{grouping}"
    report = exact(cluster, cluster.evenkey(command(grouping, output)), output)
    alone = cluster.evenkey(command(grouping, "/srv/alone", "--master", "local[4]"), on="driver2")
    assert alone.returncode == 0, alone.stderr[-4000:]
    there = json.loads(alone.stdout)["metrics"]["max_over_mean"]
    assert report["metrics"]["max_over_mean"] == pytest.approx(there, abs=0.01)
    assert "a-secret-of-tests" not in json.dumps(report)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("grouping", ["dkg", "planned"])
def test_a_stream_that_is_routed_learns(cluster, grouping, kind):
    at = f"{PLACES[kind]}/learn-{grouping}"
    told = cluster.drive(
        "route_learns", grouping=grouping, at=f"{at}/state", checkpoint=f"{at}/checkpoint", epochs=6
    )
    if grouping == "planned":
        assert told[0] > 3
        assert max(told[3:]) < 1.06
    else:
        assert max(told[3:]) < 1.3
    went_on = cluster.drive(
        "route_learns",
        on="driver2",
        grouping=grouping,
        at=f"{at}/state",
        checkpoint=f"{at}/checkpoint",
        epochs=len(told) + 2,
    )
    assert max(went_on) < 1.3


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(("balance", "cache_static"), [("load", True), (None, False)])
def test_a_join_is_sparks_own_and_goes_on_from_another_host(cluster, balance, cache_static, kind):
    given = {
        "balance": balance,
        "cache_static": cache_static,
        "at": f"{PLACES[kind]}/join-{balance}-{cache_static}",
    }
    told = cluster.drive("join_stream", **given, epochs=4)
    assert (told["missing"], told["too many"]) == (0, 0)
    went_on = cluster.drive("join_stream", on="driver2", **given, epochs=told["epochs"] + 3)
    assert went_on["epochs"] > told["epochs"]
    assert (went_on["missing"], went_on["too many"]) == (0, 0)


def test_a_run_without_a_shared_place_says_so_at_once(cluster_without_storage):
    done = cluster_without_storage.evenkey(command("pkg", "/srv/out"), seconds=120)
    assert done.returncode in {1, 2}
    told = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(told) == 1
    assert "/srv/out" in told[0]


@pytest.mark.parametrize("state", ["/srv/state", None])
def test_a_stream_without_a_shared_place_says_so_at_once(cluster_without_storage, state):
    with pytest.raises(AssertionError, match=f"host ({ABROAD}) .*state"):
        cluster_without_storage.drive(
            "route_learns", grouping="dkg", at=state, checkpoint="/srv/checkpoint", epochs=6
        )


def test_a_join_without_a_shared_place_says_so_at_once(cluster_without_storage):
    with pytest.raises(AssertionError, match=f"host ({ABROAD}) .*state"):
        cluster_without_storage.drive(
            "join_stream", balance="load", cache_static=True, at="/srv/join", epochs=4
        )


def lose_a_worker(cluster):
    cluster.hosts.lose("worker1")
    time.sleep(5)
    cluster.hosts.start_host("worker1")
    cluster.start_worker("worker1")


def cut_a_worker(cluster):
    cluster.hosts.cut("worker2")
    time.sleep(20)
    cluster.hosts.mend("worker2")


def cut_the_store(cluster):
    cluster.hosts.cut("store")
    time.sleep(20)
    cluster.hosts.mend("store")


def slow_the_store(cluster):
    cluster.slow_storage(2)
    time.sleep(30)
    cluster.slow_storage(0)


FAULTS = [lose_a_worker, cut_a_worker, cut_the_store, slow_the_store]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_run_is_exact_through_a_fault(breakable_cluster, grouping, fault):
    cluster = breakable_cluster
    output = f"{PLACES['s3']}/faulty"
    # Work of 1 ms a message, so that the fault comes in the middle of an epoch.
    words = command(grouping, output, "--cost-ms", "1")
    done = through(lambda: strike(cluster, fault), lambda: cluster.evenkey(words, seconds=600))
    if done.returncode:  # what a fault ended goes on by the same command
        done = cluster.evenkey(words, seconds=600)
    exact(cluster, done, output)


def strike(cluster, fault):
    deadline = time.monotonic() + 200
    while not cluster.objects("faulty/results"):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    fault(cluster)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_run_goes_on_when_its_driver_is_lost(breakable_cluster, grouping):
    cluster = breakable_cluster
    output = f"{PLACES['s3']}/faulty"
    words = command(grouping, output, "--cost-ms", "1")
    done = through(
        lambda: strike(cluster, lambda here: here.hosts.lose("driver")),
        lambda: cluster.evenkey(words, seconds=600),
    )
    assert done.returncode != 0
    exact(cluster, cluster.evenkey(words, on="driver2", seconds=600), output, on="driver2")


def test_an_executor_without_the_package_is_one_clear_error(breakable_cluster):
    cluster = breakable_cluster
    for name in ("worker1", "worker2"):
        cluster.hosts.lose(name)
        cluster.hosts.start_host(name, without=ROOT / "src")
        cluster.start_worker(name)
    done = cluster.evenkey(command("pkg", f"{PLACES['s3']}/without"), seconds=200)
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(told) == 1
    assert "evenkey" in told[0]
    assert "install" in told[0]
