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
)
from tests.cluster.spark_cluster import EVENKEY, PLACES, through

pytestmark = [pytest.mark.soak(200), pytest.mark.timeout(1800)]

ABROAD = "worker[12]|driver2?"

WAITING = "pkg: waiting for executors"


def exact(cluster, done, output, on="driver"):
    """Compare the results of a run with the count of its input, and return its report."""
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    report = json.loads(done.stdout)
    found = cluster.drive("run_results", on=on, master="local[2]", output=output, workers=4)
    assert found["counts"] == expected()
    assert report["messages"] == MESSAGES
    return report


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", PLACES)
def test_streams_go_on_from_another_host(cluster, kind):
    at = f"{PLACES[kind]}/streams"

    def learning(grouping):
        return {"grouping": grouping, "at": f"{at}/{grouping}", "checkpoint": f"{at}/c-{grouping}"}

    streams: dict[str, tuple[str, dict[str, Any]]] = {
        "dkg": ("route_learns", learning("dkg")),
        "planned": ("route_learns", learning("planned")),
        "join": ("join_stream", {"balance": "load", "cache_static": True}),
        "join without a cache": ("join_stream", {"balance": None, "cache_static": False}),
        "join whose rows stay": ("staying_join_stream", {}),
        "skewed join": ("skewed_join_stream", {}),
    }
    if kind == "hdfs":
        # On S3, Spark's RocksDB never ends: moto's server does not answer copyFromLocalFile.
        streams["state"] = ("counts_with_state", {})

    def go_on(on, epochs):
        calls = {
            name: (case, {"at": f"{at}/{name.replace(' ', '-')}", **given, "epochs": epochs[name]})
            for name, (case, given) in streams.items()
        }
        return cluster.drive_all(calls, on)

    found = go_on("driver", dict.fromkeys(streams, 4) | {"dkg": 6, "planned": 6})
    ends = {name: each["epochs"] for name, each in found.items() if isinstance(each, dict)}
    ends |= {name: len(found[name]) for name in ("dkg", "planned")}
    went_on = go_on("driver2", {name: end + 3 for name, end in ends.items()})
    assert max(found["dkg"][3:]) < 1.3
    assert found["planned"][0] > 3
    assert max(found["planned"][3:]) < 1.06
    assert max(went_on["dkg"] + went_on["planned"]) < 1.3
    for name in streams.keys() - {"dkg", "planned"}:
        assert went_on[name]["epochs"] > found[name]["epochs"], name
    for name in streams.keys() - {"dkg", "planned", "state"}:
        for each in (found[name], went_on[name]):
            assert (each["missing"], each["too many"]) == (0, 0), name
    for each in (found, went_on):
        assert not each["join whose rows stay"]["moved"]
    if "state" in streams:
        assert_state_stays(found["state"], went_on["state"])


def assert_state_stays(before, after):
    """Check the counts of keys with state, and that each key stayed on its worker."""
    for each in (before, after):
        assert each["counts"] == each["expected"]
        assert {len(tasks) for tasks in each["tasks"].values()} == {1}
    assert before["tasks"] == after["tasks"]


@pytest.mark.parametrize(
    ("grouping", "fault"),
    [
        ("planned", lose_driver),
        ("planned(planning=previous)", lose_worker),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_drifting_stream_is_balanced_and_exact(breakable_cluster, grouping, fault):
    """Hot keys change within an epoch and at the start of one; 20,000 messages per worker.

    `tests/aggregate/test_surprises.py` runs the same stream without faults.
    """
    messages, output = 800_000, f"{PLACES['s3']}/drift"
    # Four slots work 12 s on an epoch, so that the fault comes in the middle of one.
    more = ["--dataset", DRIFT, "--messages", str(messages), "--sources", "5", "--cost-ms", "0.25"]
    counts = expected(DRIFT, messages)
    outcome = hit(breakable_cluster, grouping, fault, output, workers=10, more=more, counts=counts)
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.report["messages"] == messages
    assert len(outcome.max_over_means) == 4
    assert max(outcome.max_over_means) <= 1.12


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
    ("grouping", "kinds"), [("pkg", ["s3"]), ("dkg", ["hdfs"]), ("planned", ["s3", "hdfs"])]
)
def test_a_run_is_exact_and_as_balanced_as_on_one_machine(cluster, grouping, kinds):
    alone = cluster.evenkey(
        command(grouping, f"/srv/{grouping}", "--master", "local[4]"), on="driver2"
    )
    assert alone.returncode == 0, alone.stderr[-4000:]
    there = json.loads(alone.stdout)["max_over_mean"]
    for kind in kinds:
        output = f"{PLACES[kind]}/run-{grouping}"
        report = exact(cluster, cluster.evenkey(command(grouping, output)), output)
        assert report["max_over_mean"] == pytest.approx(there, abs=0.01)
        assert "a-secret-of-tests" not in json.dumps(report)


@pytest.mark.timeout(3600)
def test_operators_give_what_spark_gives_where_executors_lack_the_package(cluster_without_package):
    """The functions of tasks are in a module that imports evenkey, as those of users may be."""
    stateful = {"at": f"{PLACES['hdfs']}/stateful"}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "operators": ("one_line_operators", {"at": f"{PLACES['s3']}/one-line"}),
        "join": ("skewed_join_stream", {"at": f"{PLACES['s3']}/skewed-join", "epochs": 3}),
        "state": ("counts_with_state", {**stateful, "epochs": 2}),
    }
    found = cluster_without_package.drive_all(calls)
    operators, joined, counted = found["operators"], found["join"], found["state"]
    assert operators["whole"] == operators["split"] == operators["added"] == operators["expected"]
    assert operators["join"] == operators["written"] == 0
    assert (joined["missing"], joined["too many"]) == (0, 0)
    went_on = cluster_without_package.drive(
        "counts_with_state", on="driver2", **stateful, epochs=counted["epochs"] + 2
    )
    assert went_on["epochs"] > counted["epochs"]
    assert_state_stays(counted, went_on)


def test_an_executor_without_the_package_is_one_clear_error(cluster_without_package):
    words = command("pkg", f"{PLACES['s3']}/without")
    done = cluster_without_package.evenkey(words, seconds=200)
    assert done.returncode == 1
    found = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(found) == 1
    assert "evenkey" in found[0]
    assert "install" in found[0]


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


def test_operators_of_one_line_give_what_spark_gives(cluster):
    calls = {kind: ("one_line_operators", {"at": f"{at}/one-line"}) for kind, at in PLACES.items()}
    for found in cluster.drive_all(calls).values():
        assert found["whole"] == found["split"] == found["added"] == found["expected"]
        assert found["join"] == found["written"] == 0
        # A user with 80 % of the rows is on all four workers, if the rows of a user may be split.
        assert found["split alice"] < 40
        assert found["added alice"] == 4
        assert found["max/mean of join"] < 1.1
        assert found["files of others"] == 1
        assert found["files of alice"] == 30


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


def test_a_run_without_a_shared_place_says_so_at_once(cluster_without_storage):
    done = cluster_without_storage.evenkey(command("pkg", "/srv/out"))
    assert done.returncode in {1, 2}
    found = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(found) == 1
    assert "/srv/out" in found[0]
