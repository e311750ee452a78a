"""Epochs of `stateful` on a drifting stream: seconds, moved states, maximum load, exactness.

Epoch 0 has each key once, so that all states exist. Then rows follow Zipf's law, and every few
epochs other keys become hot. `limit` is the mean number of rows of a worker or that of the hottest
key, whichever is larger. The verdict covers the maximum load in epochs whose hot keys the previous
epoch had shown, with unchanged workers. With ``--merge``, a partial state is one row of the load.
At the end all states are compared with a count by NumPy. ``--json FILE`` also writes the result.

Estimates are for an idle machine with a core per worker; on two cores they are three times as high.

    python -m benchmarks.keyed_state --epochs 63 --every 3             # 20 moves; 10 minutes
    python -m benchmarks.keyed_state --epochs 63 --every 3 --merge     # 10 minutes
    python -m benchmarks.keyed_state --epochs 63 --every 3 --kills 20  # 25 minutes
    python -m benchmarks.keyed_state --beside --epochs 24              # beside Spark; 15 minutes
    python -m benchmarks.keyed_state --workers 8 --most-workers 12 --change 8:12,16:6  # 5 minutes
    python -m benchmarks.keyed_state --keys 20000 --rows 20000 --epochs 8 --every 3 --workers 2

In ``--kills`` the program of the stream is killed, with its JVM and executors, in random epochs at
random times, and started again. ``--beside`` runs each epoch in two queries, in random order:
`stateful` and ``transformWithStateInPandas`` of Spark. The results of both are the new counts of
the keys.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import keyed_beside_spark
from benchmarks.keyed_stream import keys_of, write_epoch
from evenkey.core.stores import LocalStore
from evenkey.spark.states.state_log import StateLog
from tests.processes import end_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenkey.spark.states.state_plan import StatePlan

_PAUSE = 0.02
_MOVED = 0.03
"""An epoch has a move if at least this share of the states is on another worker than before."""


def write(directory: Path, given: Any) -> tuple[NDArray[np.int64], list[int]]:
    """Write the files of all epochs; return the rows of each key, and those of the hottest one."""
    directory.mkdir()
    counts, hottest = np.zeros(given.keys, dtype=np.int64), []
    for epoch, rows in enumerate(keys_of(given)):
        of_key = np.bincount(rows, minlength=given.keys)
        counts += of_key
        hottest.append(int(of_key.max()))
        write_epoch(directory, epoch, rows, given.files)
    return counts, hottest


def log_of(place: Path) -> StateLog:
    """Return the log of the only query of a state."""
    (query,) = (place / "state" / "queries").iterdir()
    return StateLog(LocalStore(query))


def plan_of(log: StateLog, epoch: int) -> StatePlan | None:
    """Return the plan of an epoch that counted; None: it is too old and was deleted."""
    newest = log.generation(log.generations()[-1])
    return None if newest is None else log._in_force(newest, epoch)


def measured(log: StateLog, hottest: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the figures of each epoch from the log of its query."""
    for epoch, most in enumerate(hottest):
        plan = plan_of(log, epoch)
        if plan is None:
            continue
        rows, loaded, combining, working = np.zeros(plan.workers), 0, 0.0, 0.0
        for record in log.records(plan):
            loaded += len(record.loaded)
            for work in record.work.values():
                rows[record.slot] += work.received
                combining += work.combining
                working += work.seconds
        sizes = np.array(plan.sizes)
        yield {
            "epoch": epoch,
            "workers": plan.workers,
            "moved_states": float(sizes[[*plan.moved]].sum() / max(sizes.sum(), 1)),
            "moved_partitions": len(plan.moved),
            "loaded_partitions": loaded,
            "max_over_limit": float(rows.max() / max(rows.mean(), most)),
            "max_over_mean": float(rows.max() / rows.mean()),
            "seconds_of_work": working,
            "seconds_of_combining": combining,
        }


def states_of(log: StateLog, checkpoint: Path, keys: int) -> NDArray[np.int64]:
    """Return the count in the state of each key after all epochs.

    After a kill, an epoch may have more files than others, so that there are fewer epochs.
    """
    plan = plan_of(log, max(int(each.name) for each in (checkpoint / "commits").glob("[0-9]*")))
    assert plan is not None
    heads = plan.after(log.records(plan)).heads
    counts = np.zeros(keys, dtype=np.int64)
    for partition, head in enumerate(heads):
        if head is not None:
            for table in log.pieces.chain(head, partition)[0]:
                counts[table["key"].to_numpy()] = table["n"].to_numpy()
    return counts


def run(place: Path, given: Any, kills: int) -> list[tuple[int, float]]:
    """Run the program of the stream to its end; return the epoch and time of each kill.

    The program is killed in random epochs, each at a random time after the epoch before it.
    """
    options = json.dumps(vars(given))
    command = [sys.executable, "-m", "benchmarks.keyed_stream", str(place), options]
    random = np.random.default_rng(given.seed)
    epochs = sorted(random.choice(np.arange(1, given.epochs), kills, replace=False).tolist())
    killed: list[tuple[int, float]] = []
    for epoch in [*epochs, None]:
        with subprocess.Popen(command, start_new_session=True) as program:
            if epoch is not None and _committed(program, place / f"checkpoint/commits/{epoch - 1}"):
                after = round(float(random.uniform(0, given.kill_within)), 2)
                time.sleep(after)
                end_session(program.pid)
                killed.append((epoch, after))
            elif program.wait():
                message = f"the program ended with {program.returncode}"
                raise RuntimeError(message)
    return killed


def _committed(program: subprocess.Popen[bytes], commit: Path) -> bool:
    """Wait until a file is there or a program has ended; return whether the file is there."""
    while not commit.exists() and program.poll() is None:
        time.sleep(_PAUSE)
    return commit.exists()


def spread(values: list[float]) -> dict[str, float | int | None]:
    """Return number, median and maximum of some figures."""
    if not values:
        return {"epochs": 0, "median": None, "worst": None}
    return {"epochs": len(values), "median": float(np.median(values)), "worst": max(values)}


def verdict(epochs: list[dict[str, Any]], given: Any) -> dict[str, Any]:
    """Return the figures of a run: times as ratios of the median epoch, and the maximum load."""
    timed = [each for each in epochs if each["epoch"] > 1 and each["seconds"] is not None]
    before = {each["epoch"] + 1: each["workers"] for each in epochs}
    changed = [each for each in timed if before.get(each["epoch"]) != each["workers"]]
    moves = [each for each in timed if each["moved_states"] >= _MOVED and each not in changed]
    shown = [
        each
        for each in epochs
        if each["epoch"] > 1
        and each["epoch"] % given.every
        and before.get(each["epoch"]) == each["workers"]
    ]
    median = float(np.median([each["seconds"] for each in timed])) if timed else None
    changes = []
    for each in changed if median is not None else []:
        others = [
            other["seconds"]
            for other in timed
            if other["workers"] == each["workers"] and other not in changed
        ]
        if others:
            ratio = each["seconds"] / float(np.median(others))
            changes.append(
                {"epoch": each["epoch"], "workers": each["workers"], "over_median": ratio}
            )
    return {
        "median_seconds": median,
        "moves_over_median": spread([each["seconds"] / median for each in moves] if median else []),
        "moved_states": spread([each["moved_states"] for each in moves]),
        "max_over_limit": spread([each["max_over_limit"] for each in shown]),
        "max_over_mean": spread([each["max_over_mean"] for each in shown]),
        "changes": changes,
    }


def alone(place: Path, given: Any) -> dict[str, Any]:
    """Run the stream, also with kills or other numbers of workers."""
    counts, hottest = write(place / "input", given)
    started = time.perf_counter()
    killed = run(place, given, given.kills)
    log = log_of(place)
    seconds = json.loads((place / "seconds.json").read_text())
    epochs = [
        {**each, "seconds": seconds.get(str(each["epoch"]))} for each in measured(log, hottest)
    ]
    exact = bool((states_of(log, place / "checkpoint", given.keys) == counts).all())
    figures = {
        "exact": exact,
        "kills": len(killed),
        "starts": len(log.generations()),
        "total_seconds": time.perf_counter() - started,
        **({} if killed else verdict(epochs, given)),
    }
    return {"verdict": figures, "killed_after": killed, "epochs": epochs}


def beside(place: Path, given: Any) -> dict[str, Any]:
    """Run each epoch in a query of `stateful` and in one of Spark."""
    found = keyed_beside_spark.run(place, given)
    own = {each["epoch"]: each for each in measured(log_of(place), found["hottest"])}
    epochs, figures = found["epochs"], {}
    for each in epochs:
        if each["way"] == "stateful":
            each |= {name: own[each["epoch"]][name] for name in ("max_over_limit", "max_over_mean")}
    for way in ("stateful", "spark"):
        # After a drift too: Spark's placement does not follow any.
        mine = [each for each in epochs if each["way"] == way and each["epoch"] > 1]
        shown = [each for each in mine if each["epoch"] % given.every]
        figures[way] = {
            "rows_per_second": given.rows * len(mine) / sum(each["seconds"] for each in mine),
            "seconds": spread([each["seconds"] for each in mine]),
            "max_over_limit": spread([each["max_over_limit"] for each in shown]),
            "max_over_mean": spread([each["max_over_mean"] for each in shown]),
        }
    rates = [figures[way]["rows_per_second"] for way in ("stateful", "spark")]
    states = states_of(log_of(place), place / "stateful-checkpoint", given.keys)
    exact = bool((states == found["counts"]).all())
    verdict = {"exact": exact, "exact_spark": found["exact"], "throughput": rates[0] / rates[1]}
    return {"verdict": {**verdict, **figures}, "epochs": epochs}


def options() -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in (
        ("keys", 1_000_000),
        ("rows", 500_000),
        ("epochs", 24),
        ("every", 6),
        ("workers", 10),
        ("most-workers", 0),
        ("partitions", 0),
        ("files", 0),
        ("kills", 0),
        ("kill-within", 3),
        ("seed", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--master", default="", help="default: local-cluster[N,1,1024]")
    parser.add_argument("--change", default="", help="workers from an epoch on: EPOCH:W,EPOCH:W")
    parser.add_argument("--merge", action="store_true", help="combine the rows of hot keys")
    parser.add_argument("--beside", action="store_true", help="beside Spark's own operator")
    parser.add_argument("--json", type=Path, help="file for the result")
    given = parser.parse_args()
    given.most_workers = given.most_workers or given.workers
    given.files = given.files or given.most_workers
    given.master = given.master or f"local-cluster[{given.most_workers},1,1024]"
    given.changes = dict(each.split(":") for each in given.change.split(",") if each)
    return given


def main() -> None:
    given = options()
    file, given.json = given.json, None
    with tempfile.TemporaryDirectory() as directory:
        found = (beside if given.beside else alone)(Path(directory), given)
    text = json.dumps({"options": vars(given), **found}, indent=1) + "\n"
    if file is not None:
        file.write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
