"""Runs and streams on separate hosts with state on S3 or HDFS: exact and balanced, with faults."""

from __future__ import annotations

import json
import re
import time
from itertools import cycle
from typing import Any

import pytest

from tests.cluster.faults import (
    DRIFT,
    FAULTS,
    GROUPINGS,
    MESSAGES,
    command,
    expected,
    hit,
    lose_driver,
    lose_worker,
    none,
)
from tests.cluster.spark_cluster import EVENKEY, PLACES, through
from tests.servers import ROOT

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1800),
]

ABROAD = "worker[12]|driver2?"

WAITING = "pkg: waiting for executors"


def exact(cluster, done, output, on="driver"):
    """Compare the results of a run with the count of its input, and return its report."""
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    report = json.loads(done.stdout)
    assert cluster.drive("counts_of", on=on, master="local[2]", output=output) == expected()
    assert report["messages"] == MESSAGES
    return report


@pytest.mark.parametrize(
    ("grouping", "kind"), [("pkg", "s3"), ("dkg", "hdfs"), ("planned", "s3"), ("planned", "hdfs")]
)
def test_a_run_is_exact_and_as_balanced_as_on_one_machine(cluster, grouping, kind):
    output = f"{PLACES[kind]}/run-{grouping}"
    report = exact(cluster, cluster.evenkey(command(grouping, output)), output)
    alone = cluster.evenkey(
        command(grouping, f"/srv/{grouping}", "--master", "local[4]"), on="driver2"
    )
    assert alone.returncode == 0, alone.stderr[-4000:]
    there = json.loads(alone.stdout)["max_over_mean"]
    assert report["max_over_mean"] == pytest.approx(there, abs=0.01)
    assert "a-secret-of-tests" not in json.dumps(report)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("grouping", ["dkg", "planned"])
def test_a_stream_that_is_routed_learns(cluster, grouping, kind):
    at = f"{PLACES[kind]}/learn-{grouping}"
    found = cluster.drive(
        "route_learns", grouping=grouping, at=f"{at}/state", checkpoint=f"{at}/checkpoint", epochs=6
    )
    if grouping == "planned":
        assert found[0] > 3
        assert max(found[3:]) < 1.06
    else:
        assert max(found[3:]) < 1.3
    went_on = cluster.drive(
        "route_learns",
        on="driver2",
        grouping=grouping,
        at=f"{at}/state",
        checkpoint=f"{at}/checkpoint",
        epochs=len(found) + 2,
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
    found = cluster.drive("join_stream", **given, epochs=4)
    assert (found["missing"], found["too many"]) == (0, 0)
    went_on = cluster.drive("join_stream", on="driver2", **given, epochs=found["epochs"] + 3)
    assert went_on["epochs"] > found["epochs"]
    assert (went_on["missing"], went_on["too many"]) == (0, 0)


@pytest.mark.parametrize("kind", PLACES)
def test_operators_of_one_line_give_what_spark_gives(cluster, kind):
    found = cluster.drive("one_line_operators", at=f"{PLACES[kind]}/one-line")
    assert found["whole"] == found["split"] == found["added"] == found["expected"]
    assert found["join"] == found["written"] == 0
    # A user with 80 % of the rows is on all four workers, if the rows of a user may be split.
    assert found["split alice"] < 40
    assert found["added alice"] == 4
    assert found["max/mean of join"] < 1.1
    assert found["files of others"] == 1
    assert found["files of alice"] == 30


@pytest.mark.parametrize("kind", PLACES)
def test_a_join_whose_rows_stay_goes_on_from_another_host(cluster, kind):
    at = f"{PLACES[kind]}/staying-join"
    found = cluster.drive("staying_join_stream", at=at, epochs=4)
    went_on = cluster.drive("staying_join_stream", on="driver2", at=at, epochs=found["epochs"] + 3)
    assert went_on["epochs"] > found["epochs"]
    for each in (found, went_on):
        assert (each["missing"], each["too many"], each["moved"]) == (0, 0, False)


@pytest.mark.parametrize("kind", PLACES)
def test_a_skewed_join_of_a_stream_continues_from_another_host(cluster, kind):
    at = f"{PLACES[kind]}/skewed-join"
    found = cluster.drive("skewed_join_stream", at=at, epochs=4)
    assert (found["missing"], found["too many"]) == (0, 0)
    went_on = cluster.drive("skewed_join_stream", on="driver2", at=at, epochs=found["epochs"] + 3)
    assert went_on["epochs"] > found["epochs"]
    assert (went_on["missing"], went_on["too many"]) == (0, 0)


def test_keys_with_state_stay_on_their_workers_through_a_restart(cluster):
    # On S3, Spark's RocksDB never ends: moto's server does not answer copyFromLocalFile.
    at = f"{PLACES['hdfs']}/stateful"
    found = cluster.drive("counts_with_state", at=at, epochs=3)
    went_on = cluster.drive("counts_with_state", on="driver2", at=at, epochs=found["epochs"] + 2)
    assert went_on["epochs"] > found["epochs"]
    for each in (found, went_on):
        assert each["counts"] == each["expected"]
        assert {len(tasks) for tasks in each["tasks"].values()} == {1}
    assert found["tasks"] == went_on["tasks"]


def test_a_run_whose_executors_do_not_come_says_so_and_goes_on_when_they_do(cluster):
    output = f"{PLACES['s3']}/awaited"

    def said():
        lines = cluster.hosts.run("driver", ["cat", "awaited"], {}, 10).stdout.splitlines()
        return [line.partition(",")[0] for line in lines]  # without the time

    def keep_away():
        for worker in ("worker1", "worker2"):
            cluster.hosts.cut(worker)
        deadline = time.monotonic() + 240
        while WAITING not in said() and time.monotonic() < deadline:
            time.sleep(1)
        for worker in ("worker1", "worker2"):
            cluster.hosts.reconnect(worker)

    words = ["bash", "-c", 'exec "$0" "$@" 2>awaited', EVENKEY, *command("pkg", output)]
    done = through(keep_away, lambda: cluster.run(words))
    exact(cluster, done, output)
    assert said().count(WAITING) == 1


def test_a_run_without_a_shared_place_says_so_at_once(cluster_without_storage):
    done = cluster_without_storage.evenkey(command("pkg", "/srv/out"))
    assert done.returncode in {1, 2}
    found = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(found) == 1
    assert "/srv/out" in found[0]


def test_streams_without_a_shared_place_say_so_at_once(cluster_without_storage):
    streams: list[tuple[str, dict[str, Any]]] = [
        (name, {"grouping": grouping, "at": at, "checkpoint": f"/srv/checkpoint-{number}"})
        for number, (name, grouping, at) in enumerate(
            [
                ("route_learns", "dkg", "/srv/dkg"),
                ("route_learns", "planned", "/srv/planned"),
                ("route_learns", "dkg", None),
                ("route_learns", "planned", None),
                ("aggregate_stream", "dkg", "/srv/sums-dkg"),
                ("aggregate_stream", "planned", "/srv/sums-planned"),
            ]
        )
    ]
    join = {"balance": "load", "cache_static": True, "at": "/srv/join"}
    # A stream that is not stopped in its first epoch ends by itself after the second.
    calls = [(name, {**given, "epochs": 1}) for name, given in [*streams, ("join_stream", join)]]
    ended = cluster_without_storage.drive("outcomes", calls=calls)
    for call, outcome in zip(calls, ended, strict=True):
        lines = re.findall(rf"host (?:{ABROAD}) does not see what host .*", str(outcome))
        assert "error" in outcome, call
        assert lines, (call, outcome)
        assert "state" in lines[0], call


# `python -m tests.cluster.faults` draws fault and grouping of each run.
@pytest.mark.parametrize(
    ("grouping", "fault"),
    list(zip(cycle(GROUPINGS), FAULTS, strict=False)),
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_run_is_exact_through_a_fault(breakable_cluster, grouping, fault):
    outcome = hit(breakable_cluster, grouping, fault, f"{PLACES['s3']}/faulty")
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.report["messages"] == MESSAGES


@pytest.mark.parametrize(
    ("grouping", "fault"),
    [
        ("planned", none),
        ("planned", lose_driver),
        ("planned(planning=previous)", none),
        ("planned(planning=previous)", lose_worker),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_drifting_stream_is_balanced_and_exact(breakable_cluster, grouping, fault):
    """Hot keys change within an epoch and at the start of one; 20,000 messages per worker."""
    messages, output = 800_000, f"{PLACES['s3']}/drift"
    more = ["--dataset", DRIFT, "--messages", str(messages), "--workers", "10", "--sources", "5"]
    counts = expected(DRIFT, messages)
    outcome = hit(breakable_cluster, grouping, fault, output, more=more, counts=counts)
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.report["messages"] == messages
    on = "driver2" if fault is lose_driver else "driver"
    loads = breakable_cluster.drive(
        "max_over_means", on=on, master="local[2]", output=output, workers=10
    )
    assert len(loads) == 4
    assert max(loads) <= 1.12


def hide_evenkey(cluster):
    """Start the workers' hosts again, without the package."""
    for name in ("worker1", "worker2"):
        cluster.hosts.lose(name)
        cluster.hosts.start_host(name, without=ROOT / "src")
        cluster.start_worker(name)


def test_an_executor_without_the_package_is_one_clear_error(breakable_cluster):
    hide_evenkey(breakable_cluster)
    words = command("pkg", f"{PLACES['s3']}/without")
    done = breakable_cluster.evenkey(words, seconds=200)
    assert done.returncode == 1
    found = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(found) == 1
    assert "evenkey" in found[0]
    assert "install" in found[0]


def test_operators_give_what_spark_gives_where_executors_lack_the_package(breakable_cluster):
    """The functions of tasks are in a module that imports evenkey, as those of users may be."""
    cluster = breakable_cluster
    hide_evenkey(cluster)
    found = cluster.drive("one_line_operators", at=f"{PLACES['s3']}/one-line")
    assert found["whole"] == found["split"] == found["added"] == found["expected"]
    assert found["join"] == found["written"] == 0
    joined = cluster.drive("skewed_join_stream", at=f"{PLACES['s3']}/skewed-join", epochs=3)
    assert (joined["missing"], joined["too many"]) == (0, 0)
    given = {"at": f"{PLACES['hdfs']}/stateful"}
    counted = cluster.drive("counts_with_state", **given, epochs=2)
    went_on = cluster.drive(
        "counts_with_state", on="driver2", **given, epochs=counted["epochs"] + 2
    )
    assert went_on["epochs"] > counted["epochs"]
    for each in (counted, went_on):
        assert each["counts"] == each["expected"]
