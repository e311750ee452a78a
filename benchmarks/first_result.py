"""How long users wait for the first results: from the start of a process to the end of its epochs.

Each measurement is a process of its own, and the ways are interleaved:

- ``spark``: three small epochs of a stream with state (``transformWithStateInPandas``), by Spark's
  own `groupBy` in a plain session.
- ``groupBy``: the same by ``eks.groupBy`` with a state directory, in evenkey's session.
- ``groupBy, plain session``: the same in the plain session.
- ``run``: ``evenkey run`` on a small file, until the files of its first epoch are committed.

Seconds of the parts: until Spark has started, then until the first epoch has ended, then until all
have ended; and the processor seconds of the process with its children. Figures are medians.

    python -m benchmarks.first_result                           # five rounds: about six minutes
    python -m benchmarks.first_result --ways spark,groupBy --rounds 3 --json build/first.json
    python -m benchmarks.first_result --source ../other/src     # another version, interleaved
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.processor_time import processor_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
EPOCHS, ROWS, KEYS, WORKERS = 3, 400, 20, 4
SPARK, GROUPED, IN_PLAIN, RUN = "spark", "groupBy", "groupBy, plain session", "run"
WAYS = (SPARK, GROUPED, IN_PLAIN, RUN)
_PAUSE, _SAMPLED = 0.02, 0.5
_SECONDS = 600.0


def stream(way: str, folder: Path) -> dict[str, float]:
    """Run a stream with state to the end of its epochs; return when each part ended."""
    import pandas as pd
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StatefulProcessor

    from evenkey import spark as eks

    class Seen(StatefulProcessor):
        """Counts the rows of a key."""

        def init(self, handle: Any) -> None:
            self.seen = handle.getValueState("seen", "n long")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: ARG002, N802, N803 - Spark's names
            seen = (self.seen.get()[0] if self.seen.exists() else 0) + sum(map(len, rows))
            self.seen.update((seen,))
            yield pd.DataFrame({"key": [key[0]], "seen": [seen]})

        def close(self) -> None:
            pass

    settings = {
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming"
        ".state.RocksDBStateStoreProvider",
        "spark.local.dir": str(folder / "spark"),
    }
    if way == GROUPED:
        session = eks.session(settings=settings)
    else:
        builder = SparkSession.builder.master(f"local[{os.cpu_count()}]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    ended = {"started": time.time()}
    rows = (
        session.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS)
        .option("numPartitions", 2)
        .load()
        .selectExpr(f"value % {KEYS} AS key", "value")
    )
    grouped = (
        rows.groupBy("key")
        if way == SPARK
        else eks.groupBy(rows, "key", workers=WORKERS, state=folder / "plan")
    )
    counted = grouped.transformWithStateInPandas(Seen(), "key long, seen long", "Update", "None")

    def keep(batch: Any, epoch: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / f"epoch-{epoch}"))
        ended.setdefault("first", time.time())
        if epoch == EPOCHS - 1:
            ended.setdefault("all", time.time())

    query = (
        counted.writeStream.foreachBatch(keep)
        .outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    while "all" not in ended and query.isActive:
        time.sleep(_PAUSE)
    error = query.exception()
    if error is not None:
        raise error
    return {**ended, "processor": processor_seconds()}


def watched_run(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Run ``evenkey run``; return when its first epoch was committed, and when it ended."""
    from evenkey.core.stores import store_at
    from evenkey.pipeline.runs.output.commits import Commits

    file, output = folder / "clicks.csv", folder / "out"
    lines = (f"user {number % KEYS},{number}" for number in range(EPOCHS * ROWS))
    file.write_text("\n".join(["user,n", *lines]))
    options = {
        "input": file,
        "key": "user",
        "grouping": "dkg",
        "workers": WORKERS,
        "epochs": EPOCHS,
        "output": output,
    }
    command = [sys.executable, "-m", "evenkey", "run", "--json"]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    ended: dict[str, float] = {}
    before, looked = processor_seconds(), time.time()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            time.sleep(_PAUSE)
            if "first" not in ended and output.exists() and Commits(store_at(output)).epochs():
                ended["first"] = time.time()
            if time.time() - looked > _SAMPLED:  # Java's time cannot be read when it has ended
                looked = time.time()
                ended["processor"] = max(ended.get("processor", 0.0), processor_seconds() - before)
        if process.returncode:
            message = f"evenkey run ended with exit code {process.returncode}"
            raise RuntimeError(message)
    ended["all"] = time.time()
    return ended


def measured(way: str, source: Path) -> dict[str, float]:
    """Measure one way in a new process; return the seconds since the process started."""
    paths = f"{source}{os.pathsep}{ROOT}"
    environment = {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as folder:
        began = time.time()
        if way == RUN:
            ended = watched_run(Path(folder), environment)
        else:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.first_result", "--one", way, folder],
                env=environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
            if done.returncode:
                message = f"{way}: {done.stderr[-2000:]}"
                raise RuntimeError(message)
            ended = json.loads(done.stdout.splitlines()[-1])
    return {
        name: round(each if name == "processor" else each - began, 3)
        for name, each in ended.items()
    }


def main() -> None:
    """Measure all ways in turn, print the medians, and write all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", default=";".join(WAYS), help="separated by semicolons")
    parser.add_argument(
        "--source",
        type=Path,
        action="append",
        default=[],
        help="folder with another version of the package, which is measured too",
    )
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        sys.stdout.write(json.dumps(stream(options.one[0], Path(options.one[1]))))
        return
    sources = [ROOT / "src", *(each.resolve() for each in options.source)]
    found: dict[str, list[dict[str, float]]] = {}
    for number in range(options.rounds):
        order = [(way, source) for way in options.ways.split(";") for source in sources]
        for way, source in order if number % 2 == 0 else reversed(order):
            of_source = "" if source == sources[0] else f" ({source})"
            found.setdefault(f"{way}{of_source}", []).append(measured(way, source))
    for name, each in found.items():
        parts = {part: statistics.median(one[part] for one in each) for part in each[0]}
        line = ", ".join(f"{part} {value:.2f} s" for part, value in parts.items())
        sys.stdout.write(f"{name:40} {line}\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
