"""Runs as separate processes, and ways to kill them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evenkey.pipeline.aggregate.worker import PLACED
from evenkey.pipeline.runs import EpochFiles
from tests.processes import end_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkey.core.stores import Store

__all__ = [
    "finish",
    "kill_in_the_middle",
    "max_over_means",
    "placed",
    "running",
    "started",
    "wait_for_the_middle",
]


@contextlib.contextmanager
def started(arguments: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start ``evenkey run`` in its own process session, which is killed at the end."""
    with running(["evenkey", "run", "--json", *arguments], log) as process:
        yield process


@contextlib.contextmanager
def running(module: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a module with its arguments, as `started` does."""
    with log.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdout=subprocess.DEVNULL,
            stderr=written,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end_session(process.pid)
        process.wait()


def finish(arguments: list[str]) -> dict[str, Any]:
    """Run to the end, and return the report."""
    done = subprocess.run(
        [sys.executable, "-m", "evenkey", "run", "--json", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def in_the_middle_of_an_epoch(output: Path, after: int = 1) -> bool:
    """Return whether an epoch has begun but not ended, after some completed epochs."""
    checkpoint = output / "state" / "checkpoint"
    begun = {path.name for path in (checkpoint / "offsets").glob("[0-9]*")}
    ended = {path.name for path in (checkpoint / "commits").glob("[0-9]*")}
    return len(begun - ended) == 1 and len(ended) >= after


def wait_for_the_middle(
    process: subprocess.Popen[bytes], output: Path, log: Path, after: int = 1
) -> None:
    """Wait until an epoch after the first ones has begun."""
    while not in_the_middle_of_an_epoch(output, after):
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    # Epochs take seconds of simulated cost, so this one is far from its end.
    time.sleep(0.3)


def kill_in_the_middle(
    process: subprocess.Popen[bytes], output: Path, log: Path, after: int = 1
) -> None:
    """Kill a run with -9 in the middle of an epoch after its first ones."""
    wait_for_the_middle(process, output, log, after)
    end_session(process.pid)
    process.wait()
    assert in_the_middle_of_an_epoch(output)


def placed(output: Path | Store) -> pa.Table:
    """Return the workers' counts in all committed epochs, with the epoch's number."""
    files = EpochFiles(output, "state/")
    tables = [
        table.append_column("epoch", pa.array([epoch] * len(table)))
        for epoch in files.epochs(PLACED)
        if (table := files.read(PLACED, [epoch])) is not None
    ]
    return pa.concat_tables(tables)


def max_over_means(output: Path | Store, workers: int) -> list[float]:
    """Return the maximum load over the mean in each committed epoch."""
    loads: dict[int, Counter[int]] = defaultdict(Counter)
    for row in placed(output).to_pylist():
        loads[row["epoch"]][row["worker"]] += row["messages"]
    return [max(each.values()) * workers / each.total() for _, each in sorted(loads.items())]
