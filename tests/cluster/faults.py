"""Faults on separate hosts, drawn from a seed: each hits a run, whose results are then counted.

``python -m tests.cluster.faults --faults 30 --seed 1`` continues after the faults of this seed that
`RECORDS` has already. For each fault it writes a line: the fault, how many commands the run took,
and how many messages were lost or doubled. ``--now N`` stops after N more faults.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.streams import generated
from tests.cluster.spark_cluster import PLACES, SparkCluster, through
from tests.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FAULTS", "Outcome", "command", "expected", "hit"]

GROUPINGS = ("pkg", "dkg", "planned")
MESSAGES = 200_000
STREAM = "country-skew-r80"
DRIFT = "drift(z=1.2,keys=10000,every=300000)"
RECORDS = ROOT / "build" / "cluster-faults.jsonl"
_TRIES = 3
_SECONDS = 900


def command(grouping: str, output: str, *more: str) -> list[str]:
    """Return the command of a run of the stream; options in `more` override the earlier ones."""
    sizes = ["--workers", "4", "--messages", str(MESSAGES), "--epochs", "4"]
    what = ["run", "--dataset", STREAM, "--grouping", grouping]
    return [*what, *sizes, "--output", output, "--json", *more]


def expected(stream: str = STREAM, messages: int = MESSAGES) -> Counter[str]:
    """Count the messages of a stream by key, without a run."""
    made = generated(stream, messages=messages)
    return Counter(made.texts(made.batch(0, messages).ids).to_pylist())


def lose_worker(cluster: SparkCluster) -> None:
    """Lose a worker's host with its disk, and replace it by an empty one."""
    cluster.hosts.lose("worker1")
    time.sleep(5)
    cluster.hosts.start_host("worker1")
    cluster.start_worker("worker1")


def cut_worker(cluster: SparkCluster) -> None:
    """Disconnect a worker's host for 20 s."""
    cluster.hosts.cut("worker2")
    time.sleep(20)
    cluster.hosts.reconnect("worker2")


def cut_store(cluster: SparkCluster) -> None:
    """Disconnect the store for 20 s."""
    cluster.hosts.cut("store")
    time.sleep(20)
    cluster.hosts.reconnect("store")


def slow_store(cluster: SparkCluster) -> None:
    """Delay each request to the store by 2 s, for 30 s."""
    cluster.slow_storage(2)
    time.sleep(30)
    cluster.slow_storage(0)


def lose_driver(cluster: SparkCluster) -> None:
    """Lose the driver's host with its disk; the run continues from another host."""
    cluster.hosts.lose("driver")


FAULTS: tuple[Callable[[SparkCluster], None], ...] = (
    lose_worker,
    cut_worker,
    cut_store,
    slow_store,
    lose_driver,
)


class Outcome(NamedTuple):
    """The outcome of a run with a fault: the commands that it took, lost and doubled messages."""

    commands: int
    lost: int
    doubled: int
    report: dict[str, Any]
    max_over_means: list[float]


def hit(
    cluster: SparkCluster,
    grouping: str,
    fault: Callable[[SparkCluster], None],
    output: str,
    delay: float = 0.0,
    *,
    workers: int = 4,
    more: Sequence[str] = (),
    counts: Counter[str] | None = None,
) -> Outcome:
    """Cause a fault `delay` s after the first results; repeat the command until it succeeds.

    `more` is added to the command, and `counts` are its expected results; None: `expected`.

    Raises
    ------
    AssertionError
        The command does not succeed.
    """
    # Each message costs 1 ms, so that the fault comes in the middle of an epoch.
    words = command(grouping, output, "--cost-ms", "1", "--workers", str(workers), *more)

    def strike() -> None:
        deadline = time.monotonic() + _SECONDS
        while not cluster.objects(output.removeprefix(PLACES["s3"] + "/") + "/results"):
            assert time.monotonic() < deadline, "the run has no results"
            time.sleep(0.5)
        time.sleep(delay)
        fault(cluster)

    done = through(strike, lambda: cluster.evenkey(words, seconds=_SECONDS))
    on, commands = "driver", 1
    while done.returncode and commands <= _TRIES:
        # The same command continues a run that a fault ended, from any host.
        on = "driver2" if fault is lose_driver else "driver"
        done = cluster.evenkey(words, on=on, seconds=_SECONDS)
        commands += 1
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    results = cluster.drive("run_results", on=on, master="local[2]", output=output, workers=workers)
    found = Counter(results["counts"])
    counts = expected() if counts is None else counts
    lost, doubled = (counts - found).total(), (found - counts).total()
    return Outcome(commands, lost, doubled, json.loads(done.stdout), results["max/mean"])


def main() -> None:
    """Inject faults into runs until there are as many as ``--faults`` says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--now", type=int, default=sys.maxsize)
    given = parser.parse_args()
    before = [json.loads(line) for line in _lines() if json.loads(line)["seed"] == given.seed]
    for number in range(len(before), min(given.faults, len(before) + given.now)):
        draw = random.Random(f"{given.seed} {number}")  # noqa: S311 - not for secrets
        fault, grouping = draw.choice(FAULTS), draw.choice(GROUPINGS)
        delay = draw.uniform(0, 20)
        with (
            tempfile.TemporaryDirectory(dir=ROOT / "build") as directory,
            SparkCluster(Path(directory), storage=["s3"]) as cluster,
        ):
            outcome = hit(cluster, grouping, fault, f"{PLACES['s3']}/faulty", delay)
        record = {
            "seed": given.seed,
            "number": number,
            "fault": fault.__name__,
            "grouping": grouping,
            **outcome._replace(report={}, max_over_means=[])._asdict(),
        }
        before.append(record)
        line = json.dumps(record)
        print(line, flush=True)  # noqa: T201 - shows the progress
        with RECORDS.open("a") as records:
            records.write(line + "\n")
    lost, doubled = (sum(each[what] for each in before) for what in ("lost", "doubled"))
    print(f"{len(before)} faults, {lost} messages lost, {doubled} doubled")  # noqa: T201
    sys.exit(int(lost + doubled > 0))


def _lines() -> list[str]:
    return RECORDS.read_text().splitlines() if RECORDS.exists() else []


if __name__ == "__main__":
    main()
