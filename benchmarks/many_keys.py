"""Memory and time of planning batches of very many keys, on a driver and executors of 1 GiB.

Half of the rows have a key of their own; of the other half, 10 % have one key. Each operator is
called in a process of its own, on a `local-cluster` of two executors with one core each. Only its
plan is made: no result is computed, so the user's function does not run. Without an operator
(`read`), the rows are only counted by Spark, which shows what reading them takes.

    python -m benchmarks.many_keys                                # 1, 10 and 100 million keys
    python -m benchmarks.many_keys --keys 1000000 --only groupBy

For each operator, it prints seconds, the maximum resident memory of the driver (Java and Python)
and of the larger executor in MiB, and the size in KiB of the plan that is sent to executors. Needs
an installed evenkey: executors do not read the working directory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import evenkey.spark as eks
from evenkey.spark.plans import packed_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from pyspark.sql import DataFrame

KEYS = (1_000_000, 10_000_000, 100_000_000)
WORKERS = 64
HOT = 10
"""One row of this many in the second half of the rows has the hot key."""
MEMORY = 1024
"""MiB of heap of the driver and of each executor."""


def rows(spark: SparkSession, keys: int) -> DataFrame:
    """Return two rows for each of `keys` keys but the hot one, which has a tenth of one half."""
    ids = spark.range(2 * keys, numPartitions=16)
    odd, hot = F.col("id") % 2 == 1, F.xxhash64("id") % HOT == 0
    key = F.when(odd & hot, F.lit(0)).otherwise(F.shiftright("id", 1))
    return ids.select(key.alias("key"), F.col("id").alias("value"))


def read(spark: SparkSession, keys: int) -> None:
    rows(spark, keys).agg(F.max("key"), F.max("value")).collect()


def planned(spark: SparkSession, keys: int) -> DataFrame:
    return eks.route(rows(spark, keys), "key", workers=WORKERS, grouping="planned")


def off_greedy(spark: SparkSession, keys: int) -> DataFrame:
    return eks.route(rows(spark, keys), "key", workers=WORKERS, grouping="off-greedy")


def _grouped(spark: SparkSession, keys: int, **options: Any) -> DataFrame:
    grouped = eks.groupBy(rows(spark, keys), "key", workers=WORKERS, **options)
    return grouped.applyInPandas(lambda frame: frame, "key long, value long")


def group_by(spark: SparkSession, keys: int) -> DataFrame:
    return _grouped(spark, keys)


def group_by_exact(spark: SparkSession, keys: int) -> DataFrame:
    return _grouped(spark, keys, exact=True)


def group_by_cost(spark: SparkSession, keys: int) -> DataFrame:
    return _grouped(spark, keys, cost=F.lit(1.0))


def join(spark: SparkSession, keys: int, **options: Any) -> DataFrame:
    right = spark.range(keys, numPartitions=16).select(F.col("id").alias("key"), F.lit(1))
    return eks.join(rows(spark, keys), right, "key", workers=WORKERS, **options)


def join_exact(spark: SparkSession, keys: int) -> DataFrame:
    return join(spark, keys, exact=True)


OPERATORS: dict[str, Callable[[SparkSession, int], DataFrame | None]] = {
    "read": read,
    "planned": planned,
    "groupBy": group_by,
    "groupBy, exact": group_by_exact,
    "groupBy, cost": group_by_cost,
    "join": join,
    "join, exact": join_exact,
    "off-greedy": off_greedy,
}


def measure(name: str, keys: int) -> dict[str, Any]:
    """Call an operator in this process, and return its figures."""
    sizes: list[int] = []
    pack = packed_plan.pack_plan

    def packed(*given: Any) -> np.ndarray[Any, Any]:
        words = pack(*given)
        sizes.append(words.nbytes)
        return words

    vars(packed_plan)["pack_plan"] = packed
    spark = (
        SparkSession.builder.master(f"local-cluster[2,1,{MEMORY}]")
        .config("spark.driver.memory", f"{MEMORY}m")
        .config("spark.executor.memory", f"{MEMORY}m")
        .config("spark.sql.shuffle.partitions", WORKERS)
        .config("spark.sql.autoBroadcastJoinThreshold", -1)
        .config("spark.ui.enabled", value=False)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(1000).agg(F.sum("id")).collect()
    began = time.monotonic()
    found: dict[str, Any] = {"operator": name, "keys": keys}
    try:
        OPERATORS[name](spark, keys)
    except Exception as error:  # noqa: BLE001 - what fails is reported as such
        found["failed"] = str(error).splitlines()[0][:300]
    found["seconds"] = round(time.monotonic() - began, 1)
    java = {"driver": 0, "executor": 0}
    for pid in _descendants(os.getpid()):
        command = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        if "CoarseGrainedExecutorBackend" in command:
            java["executor"] = max(java["executor"], _peak(pid))
        elif "java" in command.partition("\0")[0]:
            java["driver"] = max(java["driver"], _peak(pid))
    found |= {"driver_mib": java["driver"], "executor_mib": java["executor"]}
    found |= {"python_mib": _peak(os.getpid()), "plan_kib": max(sizes, default=0) >> 10}
    spark.stop()
    return found


def _peak(pid: int) -> int:
    """Return the maximum resident memory of a process so far, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM:"))


def _descendants(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (thread / "children").read_text().split()
        except OSError:  # the thread has just ended
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--keys", type=int, nargs="+", default=KEYS)
    parser.add_argument("--only", choices=OPERATORS, action="append", help="one operator")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        sys.stdout.write(json.dumps(measure(given.only[0], given.keys[0])) + "\n")
        return
    for keys in given.keys:
        for name in given.only or OPERATORS:
            words = [sys.executable, "-m", "benchmarks.many_keys", "--here"]
            words += ["--only", name, "--keys", str(keys)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
            ended = {"operator": name, "keys": keys, "failed": f"exit code {done.returncode}"}
            last = done.stdout.splitlines()[-1:] if done.returncode == 0 else [json.dumps(ended)]
            sys.stdout.write(last[0] + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
