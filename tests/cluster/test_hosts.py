"""On separate hosts batches are exact, stores pass their checks, and checkpoints work."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.hosts import WORK
from tests.cluster.spark_cluster import PLACES, through
from tests.faults.operated import OURS

pytestmark = pytest.mark.soak

BOTH = ["worker1", "worker2"]


def test_hosts_share_no_disk(cluster):
    run = cluster.hosts.run
    for name in cluster.hosts.names:
        write = f"echo {name} | tee own /srv/own /var/tmp/own && hostname"
        assert run(name, ["bash", "-c", write], {}, 10).stdout.split() == [name, name]
        assert run(name, ["bash", "-c", "echo x >/etc/own"], {}, 10).returncode != 0
    for name in cluster.hosts.names:
        assert run(name, ["cat", "own", "/srv/own"], {}, 10).stdout.split() == [name, name]


def test_a_batch_is_exact(cluster):
    calls = {each: ("batch", {"grouping": each}) for each in ("pkg", "dkg", "planned")}
    for grouping, found in cluster.drive_all(calls).items():
        assert found["sums"] == found["expected sums"], grouping
        assert found["rows"] == found["expected rows"], grouping
        placed = [[worker, worker] for worker in range(4)]
        assert found["partitions of a worker"] == placed, grouping


def test_operators_are_exact_where_slow_tasks_are_run_twice(cluster):
    """Spark does not start a second copy of a task on the same host, so this needs two hosts."""
    habit = "slow tasks are run twice"
    done = cluster.run([sys.executable, "-m", "tests.faults.operated", f"{WORK}/twice", habit])
    assert done.returncode == 0, done.stderr[-6000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["equal"] == dict.fromkeys(OURS, True)
    assert found["second attempts"] > 0, "no task was run twice: this shows nothing"


def test_operators_are_exact_where_the_disk_of_one_host_is_full(cluster):
    """With the right settings, Spark runs the tasks that fail there on the other host."""
    run = cluster.hosts.run
    disk = str(Path(WORK).parent)
    used = run("worker1", ["df", "-k", "--output=used", disk], {}, 10).stdout.split()[-1]

    def size(given):
        words = ["mount", "-o", f"remount,size={given}", disk]
        done = run("worker1", words, {}, 10)
        assert done.returncode == 0, done.stderr

    size(f"{int(used) + 1000}k")
    try:
        habit = "executors that fail are left out"
        done = cluster.run([sys.executable, "-m", "tests.faults.operated", f"{WORK}/full", habit])
        logs = run("worker1", ["bash", "-c", "cat apps/*/*/stderr"], {}, 10).stdout
    finally:
        size("50%")
    assert done.returncode == 0, done.stderr[-6000:]
    assert json.loads(done.stdout.splitlines()[-1])["equal"] == dict.fromkeys(OURS, True)
    # The file that does not fit may be the executor's own log.
    logs += (cluster.directory / "worker1-worker.log").read_text()
    assert "No space left on device" in logs, "the disk was not full: this shows nothing"


@pytest.mark.parametrize("kind", PLACES)
def test_a_store_holds(cluster, kind):
    """On the driver, in tasks, where tasks on two hosts create the same object, for checkpoints."""
    at = PLACES[kind]
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "here": ("conformance_here", {"at": f"{at}/here"}),
        "in tasks": ("conformance_in_tasks", {"at": f"{at}/tasks"}),
        "race": ("create_from_all_hosts", {"at": f"{at}/race", "objects": 20}),
        "checkpoint": ("checkpoint", {"at": f"{at}/checkpoint"}),
    }
    found = cluster.drive_all(calls)
    assert found["here"] == ["driver"]
    assert found["in tasks"] == BOTH
    race = found["race"]
    assert race["created"] == race["kept"] == race["objects"] == 20
    assert found["checkpoint"]["second"] > found["checkpoint"]["first"]


@pytest.mark.parametrize("kind", PLACES)
def test_a_store_that_is_cut_off_for_20_seconds_is_waited_for(cluster, kind):
    at = f"{PLACES[kind]}/cut"

    def cut():
        wait_for_objects(cluster, kind, at)
        cluster.hosts.cut("store")
        time.sleep(20)
        cluster.hosts.reconnect("store")

    found = through(cut, lambda: cluster.drive("write_on", at=at, lasting=45))
    assert found["created"] == found["there"] > 0


def test_a_slow_store_is_waited_for(cluster):
    cluster.slow_storage(2)
    try:
        found = cluster.drive("write_on", at=f"{PLACES['s3']}/slow", lasting=20)
    finally:
        cluster.slow_storage(0)
    assert found["created"] == found["there"] > 0


def wait_for_objects(cluster, kind, at):
    root = "http://store:9870/webhdfs/v1" if kind == "hdfs" else "http://store:9000"
    path = "/cut/objects?op=LISTSTATUS" if kind == "hdfs" else "/lab?list-type=2&prefix=cut/objects"
    deadline = time.monotonic() + 240
    while "00000" not in cluster.hosts.run("store", ["curl", "-s", root + path], {}, 20).stdout:
        assert time.monotonic() < deadline, f"nothing is written at {at}"
        time.sleep(0.2)
