"""Results are exact although an executor dies or a disk fills."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter

import pyarrow.dataset as ds
import pytest

from evenkey import PipelineConfig, run
from evenkey.core.streams import generated
from tests.components import skip_without
from tests.runs import killing
from tests.runs.killing import finish, started, wait_for_the_middle

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

NAME, MESSAGES = "country-skew-r80", 4000
STREAM = {"dataset": NAME, "messages": MESSAGES}
SHAPE = {"grouping": "dkg", "workers": 4, "sources": 3, "aggregators": 2, "epochs": 4}


def command(output, **options):
    every = {**STREAM, **SHAPE, **options, "output": output}
    return [part for name, value in every.items() for part in (option(name), str(value))]


def option(name):
    return "--" + name.replace("_", "-")


def totals(output):
    rows = ds.dataset(output / "results", partitioning="hive").to_table().to_pylist()
    assert len({(row["window_start"], row["key"]) for row in rows}) == len(rows)
    summed: Counter[str] = Counter()
    for row in rows:
        summed[row["key"]] += row["count"]
    return summed


def truth(stream):
    return Counter(stream.texts(stream.ids(0, stream.length)).to_pylist())


def placed(output):
    """Return each worker's counts in each epoch, sorted."""
    return killing.placed(output).sort_by(
        [(name, "ascending") for name in ("epoch", "worker", "key")]
    )


def executors(group):
    listed = subprocess.run(
        ["ps", "-ww", "-e", "-o", "pid=,pgid=,command="],  # noqa: S607 - the system's own
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split(None, 2) for line in listed.stdout.splitlines()]
    backend = "CoarseGrainedExecutorBackend"
    return [int(pid) for pid, leader, text in lines if int(leader) == group and backend in text]


@pytest.mark.usefixtures("spark")
def test_a_killed_executor_is_replaced_and_its_messages_go_to_the_same_workers(tmp_path):
    undisturbed = PipelineConfig(**STREAM, **SHAPE, output=tmp_path / "undisturbed")
    run(undisturbed)

    output, log = tmp_path / "out", tmp_path / "log"
    slow = command(output, master="local-cluster[2,1,2048]", cost_ms=2)
    with started(slow, log) as process:
        wait_for_the_middle(process, output, log)
        before = executors(process.pid)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        assert process.wait(timeout=300) == 0, log.read_text()
    assert totals(output) == truth(generated(NAME, messages=MESSAGES))
    assert placed(output) == placed(tmp_path / "undisturbed")


@pytest.fixture
def small_disk(tmp_path):
    """Make a disk of 600 kB; return a directory on it, and a function that enlarges the disk."""
    directory = tmp_path / "disk"
    directory.mkdir()

    def mount(*options):
        return subprocess.run(
            ["mount", *options, str(directory)],  # noqa: S607 - the system's own
            capture_output=True,
            text=True,
            check=False,
        )

    done = mount("-t", "tmpfs", "-o", "size=600k", "tmpfs")
    if done.returncode:
        skip_without("tmpfs", f"mounting is not allowed here: {done.stderr.strip()}")
    yield directory, lambda: mount("-o", "remount,size=256m").check_returncode()
    # Unmounted lazily: a JVM may outlive its run for a moment.
    subprocess.run(["umount", "-l", str(directory)], check=True)  # noqa: S607 - the system's own


def test_a_full_disk_is_reported_and_the_run_continues_when_there_is_space(small_disk, tmp_path):
    directory, enlarge = small_disk
    output, log = directory / "out", tmp_path / "log"
    name = "zipf(z=0.5,keys=20000)"
    many = {"dataset": name, "messages": 30_000, "epochs": 4, "grouping": "pkg"}
    with started(command(output, **many), log) as process:
        assert process.wait(timeout=300) == 1, log.read_text()
    errors = [line for line in log.read_text().splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert "No space left on device" in errors[0]
    assert str(output) in errors[0]

    enlarge()
    report = finish(command(output, **many))
    assert report["finished"]
    assert report["messages"] == 30_000
    assert totals(output) == truth(generated(name, messages=30_000))
