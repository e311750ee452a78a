"""Run jobs whose cause of slowness is known, and compare it with what `evenkey diagnose` says.

Each job is slow for one reason, which follows from how it was made: a hot key in a group, a join or
a window, null keys, one large file, spilling, a slow executor, few tasks, one slow task, or none.
Work is a sleep per row, so that slots stand for cores on any machine.

    python benchmarks/known_causes.py judge            # causes made and found; about five minutes
    python benchmarks/known_causes.py judge --job spill
    python benchmarks/known_causes.py measure          # makespans with remedies; about five minutes
    python benchmarks/known_causes.py keep             # logs for tests, with what diagnosis reads

`measure` also has the jobs of `diagnosed_jobs.py` that have a remedy. If the remedy is a setting,
the changed job has all settings that the diagnosis prints. A job that has run is not run again;
delete `build/diagnosed` first. `--json` prints the results of `judge` or `measure` as one object.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Window
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.diagnosed_jobs import (
    ALL,
    BUILD,
    CHANGED,
    CONSOLE,
    COST_MS,
    COUNTED,
    KEPT,
    LOGS,
    SLOTS,
    Job,
    balanced,
    diagnosed,
    done,
    hot,
    keep,
    longest_stage,
    of_batches,
    of_group,
    rows_of,
    run,
    seconds_of,
    sides,
)
from evenkey import spark as eks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.reports.diagnosis import Change, Finding

# Workers cannot import `benchmarks`.
cloudpickle.register_pickle_by_value(sys.modules["benchmarks.diagnosed_jobs"])

ROWS = 2_000
SLEEPING = f"reflect('java.lang.Thread', 'sleep', CAST({COST_MS:g} AS BIGINT))"
"""Expression of a row's work in the JVM, for windows of Spark's own functions."""


class Known(NamedTuple):
    """A job, and the cause of its slowness: a value of `Finding.cause`."""

    job: Job
    cause: str


def orders(spark: SparkSession, key: str) -> DataFrame:
    return rows_of(spark, key, ROWS)


def join(spark: SparkSession, key: str, kind: str) -> None:
    customers = sides(spark, key)[1]
    both = orders(spark, key).join(customers, "customer", kind)
    done(both.mapInPandas(of_batches, COUNTED))


def broadcast_join(spark: SparkSession) -> None:
    customers = sides(spark, hot())[1]
    both = orders(spark, hot()).join(customers.hint("broadcast"), "customer")
    done(both.mapInPandas(of_batches, COUNTED))


NULLS = "CASE WHEN id % 100 < 60 THEN NULL ELSE id % 500 END"


def files(spark: SparkSession, repartitioned: int | None = None) -> None:
    """Read one large compressed file and six small ones."""
    directory = BUILD / "files"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for number in range(7):
        rows = range(ROWS if number == 3 else ROWS // 20)
        text = "".join(f"{each % 500},{each}\n" for each in rows)
        (directory / f"part-{number}.csv.gz").write_bytes(gzip.compress(text.encode()))
    read = spark.read.schema("customer long, amount long").csv(directory.as_uri())
    if repartitioned is not None:
        read = read.repartition(repartitioned)
    done(read.mapInPandas(of_batches, COUNTED))


def ranked(df: DataFrame) -> DataFrame:
    number = F.row_number().over(Window.partitionBy("customer").orderBy("amount"))
    return df.withColumn("number", number)


def window(spark: SparkSession) -> None:
    done(ranked(orders(spark, hot())).withColumn("slept", F.expr(SLEEPING)))


def window_over(spark: SparkSession) -> None:
    numbered = eks.over(
        orders(spark, hot()), "customer", "amount", {"number": F.row_number()}, workers=4
    )
    done(numbered.withColumn("slept", F.expr(SLEEPING)))


def spilling(spark: SparkSession) -> None:
    """Sort more rows than fit into the memory of an executor."""
    rows = rows_of(spark, balanced(), 3_000_000).withColumn(
        "text", F.repeat(F.md5(F.col("amount").cast("string")), 4)
    )
    done(ranked(rows.select("customer", F.col("text").alias("amount"))))


def on_slow_executor(spark: SparkSession) -> None:
    def work(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        # A local cluster gives each executor a directory with the executor's number.
        slow = Path.cwd().name == "0"
        for each in batches:
            time.sleep(len(each) * COST_MS / 1000 * (5 if slow else 1))
            yield pd.DataFrame({"customer": each["customer"], "messages": 1})

    rows = orders(spark, balanced()).repartition(12, "customer")
    done(rows.mapInPandas(work, COUNTED))


def stalled(spark: SparkSession) -> None:
    """Work on balanced keys; one task waits for something else, such as a lock."""

    def work(frame: pd.DataFrame) -> pd.DataFrame:
        time.sleep(20 if frame["customer"].iloc[0] == 17 else 0)
        return of_group(frame)

    done(orders(spark, balanced()).groupBy("customer").applyInPandas(work, COUNTED))


def small_groups(spark: SparkSession) -> None:
    """Work on groups of four rows; of smaller ones, the processor would take half of the time."""
    rows = rows_of(spark, balanced(1_000), 4_000)
    done(rows.groupBy("customer").applyInPandas(of_group, COUNTED))


EIGHT = ("spark.sql.shuffle.partitions", "8")
MERGING = ("spark.sql.adaptive.coalescePartitions.enabled", "true")
KNOWN = (
    Known(Job("group-hot", lambda spark: done(
        orders(spark, hot()).groupBy("customer").applyInPandas(of_group, COUNTED)
    )), "skewed keys"),
    Known(
        Job("join-hot", lambda spark: join(spark, hot(), "inner"), changed=broadcast_join,
            how="broadcast"),
        "skewed keys",
    ),
    Known(Job("window-hot", window, changed=window_over, how="split"), "skewed keys"),
    Known(
        Job(
            "join-nulls", lambda spark: join(spark, NULLS, "left"), (), (EIGHT,),
            lambda spark: join(spark, NULLS, "left"), "nulls",
        ),
        "null keys",
    ),
    Known(
        Job("group-nulls", lambda spark: done(
            orders(spark, NULLS).groupBy("customer").applyInPandas(of_group, COUNTED)
        ), (), (EIGHT,)),
        "null keys",
    ),
    Known(
        Job("large-file", files, (), (("spark.sql.files.maxPartitionBytes", "4m"),),
            lambda spark: files(spark, 4), "repartition"),
        "large file",
    ),
    Known(Job("spill", spilling, (), (EIGHT, ("spark.memory.fraction", "0.03"))), "spill"),
    Known(
        Job("slow-host", on_slow_executor, (), (("spark.master", "local-cluster[2,1,1024]"),)),
        "slow executor",
    ),
    Known(
        Job("few-partitions", small_groups, (), (("spark.sql.shuffle.partitions", "2"),),
            small_groups, "partitions"),
        "few tasks",
    ),
    Known(Job("merged-partitions", small_groups, (), (MERGING,), small_groups, "partitions"),
          "few tasks"),
    Known(Job("slow-task", stalled), "slow task"),
    Known(Job("nothing", small_groups, (), (EIGHT,)), "none"),
)  # fmt: skip
_SETTING = re.compile(r'spark\.conf\.set\("([^"]+)", "([^"]*)"\)')
REMEDIED = (
    *(each for each in ALL if each.changed is not None),
    *(each.job for each in KNOWN if each.job.changed is not None),
)
"""The jobs whose makespan with a remedy is predicted and measured."""
RIGHT, CLOSE, OFF = 9 / 10, 10 / 12, 0.2
"""Wanted share of right causes, and of predictions that are off by at most `OFF`."""
CURES_OF_SKEW = {"split", "whole", "broadcast", "adaptive", "nulls", "drop"}
CAUSED_BY_KEYS = {"skewed keys", "null keys"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("judge", "measure", "keep"))
    parser.add_argument("--job", action="append")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse_args()
    if chosen.json:
        CONSOLE.file = sys.stderr
    known = [each for each in KNOWN if chosen.job is None or each.job.name in chosen.job]
    remedied = [each for each in REMEDIED if chosen.job is None or each.name in chosen.job]
    found: dict[str, Any] = {}
    if chosen.what == "measure":
        found = measure_all(remedied)
    else:
        for each in known:
            make_log(each.job)
    if chosen.what == "judge":
        found = judge_all(known)
    elif chosen.what == "keep":
        keep((each.job for each in known), KEPT.with_name("causes"))
    if chosen.json:
        sys.stdout.write(json.dumps(found, indent=1) + "\n")


def make_log(job: Job) -> None:
    if seconds_of(job, LOGS) is None:
        run(job, LOGS)


def judge_all(known: list[Known]) -> dict[str, Any]:
    """Compare the causes of jobs with those that the diagnosis finds, and count the right ones."""
    jobs = [judge(job, cause) for job, cause in known]
    right = sum(each["found"] == each["cause"] for each in jobs)
    CONSOLE.print(f"{right} of {len(known)} causes are right (wanted: {RIGHT:.0%})")
    wrongly = [job.name for job, cause in known if cause not in CAUSED_BY_KEYS and cures(job)]
    CONSOLE.print(f"cures of skew where keys are not the cause: {', '.join(wrongly) or 'none'}")
    return {"jobs": jobs, "right": right, "count": len(known), "wrong_cures": len(wrongly)}


def longest_finding(job: Job) -> Finding | None:
    """Return what the diagnosis says of the longest stage of a job; None if it names no stage."""
    return max(diagnosed(job).findings, key=lambda each: each.work.seconds, default=None)


def judge(job: Job, cause: str) -> dict[str, Any]:
    """Compare the cause of a job with the cause that the diagnosis finds in its longest stage."""
    longest = longest_finding(job)
    found = longest.cause if longest else "none"
    CONSOLE.print(f"{'right' if found == cause else 'WRONG'} {job.name}: {cause}, found {found}")
    for each in sorted(diagnosed(job).findings, key=lambda each: -each.work.seconds):
        CONSOLE.print(f"    {each.run.read.operator}: {each.verdict}, {each.reason}")
        for change in each.changes:
            CONSOLE.print(
                f"    {change.remedy.how}: {change.gain:.2f}x, {change.confidence}: "
                f"{change.remedy.code}"
            )
    offered = [change.remedy.how for change in longest.changes] if longest else []
    return {
        "job": job.name,
        "cause": cause,
        "found": found,
        "verdict": longest.verdict if longest else "none",
        "offered": ", ".join(offered) or "nothing",
    }


def cures(job: Job) -> set[str]:
    """Return the cures of skew that the diagnosis offers for any stage of a job."""
    changes = (change for each in diagnosed(job).findings for change in each.changes)
    found: set[str] = {change.remedy.how for change in changes}
    return found & CURES_OF_SKEW


def measure_all(jobs: list[Job]) -> dict[str, Any]:
    """Run jobs without and with a remedy, and count the makespans that were predicted well."""
    CONSOLE.print(f"makespan of the stage on {SLOTS} slots: before, predicted, measured")
    measured = [measure(job) for job in jobs]
    close = sum(each["off"] is not None and abs(each["off"]) <= OFF for each in measured)
    CONSOLE.print(
        f"{close} of {len(jobs)} predictions are within {OFF:.0%} of the measured makespan "
        f"(wanted: {CLOSE * len(jobs):.0f} of {len(jobs)})"
    )
    return {"jobs": measured, "close": close, "count": len(jobs)}


def settings_of(change: Change) -> tuple[tuple[str, str], ...]:
    """Return the settings that the code of a change sets."""
    return tuple(_SETTING.findall(change.remedy.code))


def measure(job: Job) -> dict[str, Any]:
    """Run a job with a remedy, and compare the makespan of its stage with the predicted one.

    ``off`` is by how much the prediction is off, as a share; None: the remedy is not offered.
    """
    make_log(job)
    finding = longest_finding(job)
    changes = finding.changes if finding else ()
    change = next((each for each in changes if each.remedy.how == job.how), None)
    if finding is None or change is None:
        CONSOLE.print(f"{job.name:20} {job.how:12} is not offered")
        return {"job": job.name, "how": job.how, "off": None}
    if seconds_of(job, CHANGED) is None:
        run(job._replace(settings=(*job.settings, *settings_of(change))), CHANGED)
    predicted, measured = change.seconds - change.counting, longest_stage(job)
    off = predicted / measured - 1
    CONSOLE.print(
        f"{job.name:20} {job.how:12} {finding.work.seconds:6.2f} s {predicted:6.2f} s "
        f"{measured:6.2f} s  {off:+.0%}"
    )
    return {
        "job": job.name,
        "how": job.how,
        "seconds": finding.work.seconds,
        "predicted": predicted,
        "measured": measured,
        "off": off,
    }


if __name__ == "__main__":
    main()
