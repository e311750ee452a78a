"""`rebalance` of a checkpoint with many keyed states: time of each phase, exactness, kills.

1. A query of ``transformWithStateInPandas`` counts keys: each key once, then rows by Zipf's law.
2. The state moves to another number of workers. The time of each phase is measured.
3. With ``--kills``, the state moves once more, to another location. The program is killed in each
   phase after half of the time that the phase took, and started again. At the beginning of a short
   phase the program waits until it is killed.
4. A new query begins with the state. With ``--kills``, it is killed in its first epoch.
5. The states of the new query are compared with a count by NumPy.

Estimates are for an idle machine with a core per worker; on two cores they are three times as high.

    python -m benchmarks.rebalanced_state                    # a million states; 8 minutes
    python -m benchmarks.rebalanced_state --kills            # 15 minutes
    python -m benchmarks.rebalanced_state --kills --store s3a://bucket/folder --master spark://...
    python -m benchmarks.rebalanced_state --keys 20000 --rows 20000 --workers 2 --to 3 --kills

``--store`` holds checkpoints and states: a path or a URI, as ``s3a://`` or ``hdfs://``, which all
hosts reach. Without it, a temporary directory of this host is used. Further settings of Spark come
from its own configuration files.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from benchmarks.keyed_stream import importable
from evenkey import spark as eks
from evenkey.pipeline.runs.input.sources import Reading, stream_of
from evenkey.spark.groups.group_plans import GroupPlans
from evenkey.spark.rebalancing import moving
from tests.processes import end_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

Z, BLOCK = 1.2, 10_000
PHASES: tuple[tuple[Any, str], ...] = (
    (moving, "read_checkpoint"),
    (moving, "read_operator"),
    (moving, "read_state"),
    (moving, "_begin"),
    (moving, "write_states"),
    (GroupPlans, "make"),
    (moving, "parts_of"),
    (moving, "_finish"),
)
"""Functions of a move, in their order; `make` is within `write_states`."""
LEAST_SECONDS = 1.0
"""A kill takes some time. In a phase that is shorter than this, the program waits for the kill."""
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Rows(Reading):
    """Keys by position: each key once, then by Zipf's law."""

    schema = "key bigint"

    def __init__(self, keys: int, total: int) -> None:
        super().__init__(total, 1.0)
        self.keys = keys

    def block(self, number: int) -> NDArray[np.int64]:
        """Return the keys of a block of positions."""
        positions = np.arange(number * BLOCK, (number + 1) * BLOCK)
        random = np.random.default_rng(number).random(BLOCK)
        # The inverse of the density of Zipf's law, which is close to it and needs no table.
        power = 1 - Z
        ranks = (1 + random * (float(self.keys) ** power - 1)) ** (1 / power)
        drawn = np.minimum(ranks.astype(np.int64) - 1, self.keys - 1)
        return np.where(positions < self.keys, positions, drawn)

    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Read the blocks of one of the sources."""
        for number in range(start // BLOCK, -(-stop // BLOCK)):
            if number % sources == source:
                first = number * BLOCK
                keys = self.block(number)[max(start - first, 0) : stop - first]
                yield pa.RecordBatch.from_arrays([pa.array(keys)], names=["key"])

    def counts(self, stop: int) -> NDArray[np.int64]:
        """Return the rows of each key below a position."""
        counts = np.zeros(self.keys, dtype=np.int64)
        for number in range(-(-stop // BLOCK)):
            keys = self.block(number)[: stop - number * BLOCK]
            counts += np.bincount(keys, minlength=self.keys)
        return counts


class Counts(StatefulProcessor):
    """Counts the rows of a key."""

    def init(self, handle: Any) -> None:
        self._n = handle.getValueState("seen", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        n = (self._n.get()[0] if self._n.exists() else 0) + sum(len(each) for each in rows)
        self._n.update((n,))
        yield pd.DataFrame({"key": [key[0]], "n": [n]})

    def close(self) -> None:
        pass


def say(**fields: Any) -> None:
    """Report to the program that started this one."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def started(given: Any, workers: int) -> SparkSession:
    """Return a session whose queries have as many state partitions as workers."""
    name = "spark.sql.streaming.stateStore"
    return eks.session(
        given.master,
        {
            "spark.sql.shuffle.partitions": str(workers),
            f"{name}.providerClass": _ROCKS,
            f"{name}.rocksdb.changelogCheckpointing.enabled": "true",
        },
    )


def count(spark: SparkSession, given: Any, state: str, checkpoint: str, **options: Any) -> None:
    """Count rows up to a position; report when the query has begun and the seconds of epochs."""
    workers, stop, start = (options[name] for name in ("workers", "stop", "start"))
    rows = stream_of(
        spark,
        Rows(given.keys, stop),
        sources=workers,
        epoch_messages=given.rows,
        stop_file=Path(given.directory) / "stop",
        **({} if start is None else {"start": start}),
    )
    grouped = eks.groupBy(rows, "key", workers=workers, state=f"{given.store}/{state}")
    counted = grouped.transformWithStateInPandas(
        Counts(), "key long, n long", outputMode="Update", timeMode="None"
    )

    def look(batch: DataFrame, _: int) -> None:
        batch.count()

    writer = counted.writeStream.option("checkpointLocation", f"{given.store}/{checkpoint}")
    query = writer.outputMode("update").foreachBatch(look).start()
    say(phase="epochs")
    query.processAllAvailable()
    seconds = [
        each["durationMs"]["triggerExecution"] / 1000
        for each in query.recentProgress
        if each["numInputRows"]
    ]
    query.stop()
    say(epochs=seconds)


def timed(name: str, work: Callable[..., Any], *, waits: bool) -> Callable[..., Any]:
    """Return a function that also reports when it begins and how long it takes.

    If it `waits`, the function does nothing else after this report, until the program is killed.
    """

    @functools.wraps(work)
    def call(*given: Any, **named: Any) -> Any:
        say(phase=name)
        if waits:
            sys.stdin.read()
        began = time.perf_counter()
        try:
            return work(*given, **named)
        finally:
            say(phase=name, seconds=time.perf_counter() - began)

    return call


def step(options: str) -> None:
    """Run one step in this process."""
    given = types.SimpleNamespace(**json.loads(options))
    old, new = given.keys + 2 * given.rows, given.keys + 4 * given.rows
    workers = given.workers if given.step == "old" else given.to
    spark = started(given, workers)
    say(phase="started")
    if given.step == "old":
        count(spark, given, "plans", "old", workers=workers, stop=old, start=None)
    else:
        if given.step == "move":
            for owner, name in PHASES:
                waits = name == given.waits
                setattr(owner, name, timed(name, getattr(owner, name), waits=waits))
        began = time.perf_counter()
        moved = eks.rebalance(
            spark,
            f"{given.store}/old",
            state=f"{given.store}/{given.state}",
            workers=workers,
            cost="seen.n",
        )
        say(phase="rebalance", seconds=time.perf_counter() - began, states=moved.states)
        if given.step == "new":
            start = moved.positions[0]
            place = f"new-{given.state}"
            count(spark, given, given.state, place, workers=workers, stop=new, start=start)
            reader = spark.read.format("statestore").option("stateVarName", "seen")
            table = reader.load(f"{given.store}/new-{given.state}")
            rows: Any = table.selectExpr("key.key as key", "value.n as n").toPandas()
            found = np.zeros(given.keys, dtype=np.int64)
            found[rows["key"]] = rows["n"]
            expected = Rows(given.keys, new).counts(new)
            exact = len(rows) == given.keys and bool((found == expected).all())
            say(exact=exact, states=len(rows))
    spark.stop()


def run(given: Any, step: str, kill: tuple[str, float] | None = None) -> list[dict[str, Any]]:
    """Run a step in a program; return what it reports.

    Parameters
    ----------
    given
        Options.
    step
        Name of the step.
    kill
        Phase, and the seconds after its begin at which the program is killed, or 0 if it waits for
        the kill at the begin; None: it is not killed.
    """
    waits = None if kill is None or kill[1] else kill[0]
    options = json.dumps({**vars(given), "step": step, "waits": waits})
    # As a module and not as the main program, because executors import its classes.
    code = "import sys; from benchmarks.rebalanced_state import step; step(sys.argv[1])"
    command = [sys.executable, "-c", code, options]
    said: list[dict[str, Any]] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=importable(),
    ) as program:
        assert program.stdout is not None
        for line in program.stdout:
            if not line.startswith("{"):
                continue
            said.append(json.loads(line))
            if kill is not None and said[-1] == {"phase": kill[0]}:
                time.sleep(kill[1])
                end_session(program.pid)
    if kill is None and program.returncode:
        message = f"step {step} ended with {program.returncode}"
        raise RuntimeError(message)
    return said


def measured(given: Any) -> dict[str, Any]:
    """Run all steps; return the figures."""
    old = run(given, "old")
    moved = run(given, "move")
    phases: dict[str, float] = {}
    for each in moved:
        if "seconds" in each:
            phases[each["phase"]] = phases.get(each["phase"], 0.0) + each["seconds"]
    killed = []
    if given.kills:
        given.state = "killed"
        for _, name in PHASES:
            seconds = phases[name] / 2 if phases[name] >= LEAST_SECONDS else 0
            said = run(given, "move", (name, seconds))
            ended = any(each["phase"] == name and "seconds" in each for each in said)
            killed.append({"phase": name, "ended": ended})
    began = [run(given, "new", ("epochs", given.new_kill))] if given.kills else []
    killed += [{"phase": "the first epoch of the new query"}] * len(began)
    new = run(given, "new")
    epochs = next(each["epochs"] for each in new if "epochs" in each)
    outcome = next(each for each in new if "exact" in each)
    return {
        "verdict": {
            "exact": outcome["exact"],
            "states": outcome["states"],
            "rebalance_seconds": phases.pop("rebalance"),
            "phases_seconds": phases,
            "first_epoch_seconds": epochs[0] if epochs else None,
            "kills": len(killed),
        },
        "old_epochs": next(each["epochs"] for each in old if "epochs" in each),
        "new_epochs": epochs,
        "killed": killed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in (
        ("keys", 1_000_000),
        ("rows", 500_000),
        ("workers", 8),
        ("to", 12),
        ("new-kill", 10),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--store", default="", help="location of checkpoints and states")
    parser.add_argument("--master", default="", help="default: local-cluster[N,1,1024]")
    parser.add_argument("--kills", action="store_true", help="kill the program in each phase")
    parser.add_argument("--json", type=Path, help="file for the result")
    given = parser.parse_args()
    given.master = given.master or f"local-cluster[{max(given.workers, given.to)},1,1024]"
    file, given.json, given.state = given.json, None, "state"
    with tempfile.TemporaryDirectory() as directory:
        given.directory = directory
        given.store = given.store or directory
        found = measured(given)
    text = json.dumps({"options": vars(given), **found}, indent=1) + "\n"
    if file is not None:
        file.write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
