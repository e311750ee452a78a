"""Run jobs whose cause of slowness is known, and compare it with what `evenkey diagnose` says.

Each job is slow for one reason, which follows from how it was made: a hot key in a group, a join or
a window, null keys, one large file, spilling, a slow executor, few tasks, one slow task, or none.
Work is a sleep per row, so that slots stand for cores on any machine.

    python benchmarks/known_causes.py run              # all jobs; about five minutes
    python benchmarks/known_causes.py run --job spill
    python benchmarks/known_causes.py judge            # causes made and causes found
    python benchmarks/known_causes.py measure          # gains of Spark's own remedies
    python benchmarks/known_causes.py keep             # logs for tests, with what diagnosis reads
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Window
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.diagnosed_jobs import (
    BUILD,
    CHANGED,
    CONSOLE,
    COST_MS,
    COUNTED,
    KEPT,
    LOGS,
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
    done(orders(spark, balanced()).groupBy("customer").applyInPandas(of_group, COUNTED))


FOUR = ("spark.sql.shuffle.partitions", "4")
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
CHANGES = {
    "join-nulls": ("spark.sql.shuffle.spreadNullJoinKeys.enabled", "true"),
    "few-partitions": EIGHT,
    "merged-partitions": ("spark.sql.adaptive.coalescePartitions.enabled", "false"),
}
"""Settings of changed jobs, where the change is a setting."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("run", "judge", "measure", "keep"))
    parser.add_argument("--job", choices=[each.job.name for each in KNOWN], action="append")
    chosen = parser.parse_args()
    known = [each for each in KNOWN if chosen.job is None or each.job.name in chosen.job]
    for job, cause in known:
        if chosen.what in ("run", "measure") and seconds_of(job, LOGS) is None:
            run(job, LOGS)
        if chosen.what == "judge":
            judge(job, cause)
        if chosen.what == "measure" and job.changed is not None:
            measure(job)
    if chosen.what == "keep":
        keep((each.job for each in known), KEPT.with_name("causes"))


def judge(job: Job, cause: str) -> None:
    """Compare the cause of a job with the cause that the diagnosis finds in its longest stage."""
    findings = sorted(diagnosed(job).findings, key=lambda each: -each.work.seconds)
    found = findings[0].cause if findings else "none"
    CONSOLE.print(f"{'right' if found == cause else 'WRONG'} {job.name}: {cause}, found {found}")
    for each in findings:
        CONSOLE.print(f"    {each.run.read.operator}: {each.verdict}, {each.reason}")
        for change in each.changes:
            CONSOLE.print(
                f"    {change.remedy.how}: {change.gain:.2f}x, {change.confidence}: "
                f"{change.remedy.code}"
            )


def measure(job: Job) -> None:
    """Run a job with a remedy, and compare the seconds of its stage with the prediction."""
    if seconds_of(job, CHANGED) is None:
        run(job._replace(settings=(*job.settings, CHANGES.get(job.name, FOUR))), CHANGED)
    finding = max(diagnosed(job).findings, key=lambda each: each.work.seconds)
    change = next(each for each in finding.changes if each.remedy.how == job.how)
    predicted, measured = change.seconds - change.counting, longest_stage(job)
    CONSOLE.print(
        f"{job.name:18} {job.how:12} {finding.work.seconds:.2f} s, {predicted:.2f} s predicted, "
        f"{measured:.2f} s measured ({100 * (predicted / measured - 1):+.0f} %)"
    )


if __name__ == "__main__":
    main()
