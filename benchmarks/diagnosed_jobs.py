"""Run jobs of known skew, and compare them with what `evenkey diagnose` says about their logs.

Each job runs in its own application, with `spark.eventLog.enabled`, on four slots. Its work is a
sleep per row, so that slots stand for cores on any machine. Which stages the diagnosis should name
follows from how the job was made, not from its log. `measure` makes the proposed change, and times
it. A job that has run is not run again.

    python benchmarks/diagnosed_jobs.py run            # all 18 jobs; about six minutes
    python benchmarks/diagnosed_jobs.py run --job join-skewed
    python benchmarks/diagnosed_jobs.py judge          # precision and recall of the stages named
    python benchmarks/diagnosed_jobs.py measure        # predicted and measured gains
    python benchmarks/diagnosed_jobs.py keep           # logs for tests, with what diagnosis reads
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F
from rich.console import Console

from evenkey import spark as eks
from evenkey.core.metrics import makespan
from evenkey.reports.diagnosis import diagnose
from evenkey.reports.diagnosis.reading.log_reader import READ, read_log
from evenkey.reports.diagnosis.reading.logs import find_logs
from evenkey.reports.diagnosis.reading.spark_settings import KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame

    from evenkey.reports.diagnosis import Diagnosed

ROOT = Path(__file__).parents[1].absolute()
BUILD = ROOT / "build" / "diagnosed"
SLOTS = 4
ROWS = 4_000
COST_MS = 4.0
USUAL = {
    # Adaptive execution merges small partitions; at production sizes it would not merge these.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": str(SLOTS),
}
METRICS = ("records read", "shuffle records written", "number of output rows", "data size")
PROPERTIES = ("spark.task.cpus", "spark.sql.execution.id", "sql.streaming.queryId", *KNOWN)
KEPT = ROOT / "tests" / "diagnosis" / "logs"
LONG = (
    *("physicalPlanDescription", "details", "Details", "RDD Info", "JVM Information", "Log Urls"),
    *("Hadoop Properties", "System Properties", "Metrics Properties", "Classpath Entries"),
    *("Stage Infos", "modifiedConfigs", "jobTags", "Attributes", "Resources", "Host", "metadata"),
    *("Output Metrics", "Shuffle Write Metrics", "Updated Blocks", "User"),
    *("Push Based Shuffle", "Task Executor Metrics"),
)
LOGS, CHANGED = "logs", "changed"
CONSOLE = Console(highlight=False, markup=False, soft_wrap=True)
COUNTED = "customer long, messages long"


class Job(NamedTuple):
    """A job, and what the diagnosis should find in it.

    Parameters
    ----------
    name
        Name of the job and of its application.
    run
        Function that runs the job.
    named
        Operators of the stages that the diagnosis should name.
    settings
        Settings of its session, in addition to the usual ones.
    changed
        Function that runs the job with the proposed change; None: no gain is measured.
    how
        Which of the proposed changes `changed` makes: a remedy's `how`.
    """

    name: str
    run: Callable[[SparkSession], object]
    named: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    changed: Callable[[SparkSession], object] | None = None
    how: str = ""


def rows_of(spark: SparkSession, key: str, count: int = ROWS) -> DataFrame:
    """Make rows with a customer and a few more columns."""
    return spark.range(0, count, 1, SLOTS).select(
        F.expr(key).alias("customer"),
        (F.col("id") % 3).alias("shop name"),
        F.col("id").alias("amount"),
        F.expr("timestamp_seconds(1700000000 + id)").alias("at"),
    )


def hot(share: float = 0.6, keys: int = 500) -> str:
    """Return a key expression: one customer has `share` of the rows, the others equally many."""
    return f"CASE WHEN id % 100 < {100 * share:g} THEN 0 ELSE 1 + id % {keys} END"


def balanced(keys: int = 2_000) -> str:
    """Return a key expression: all customers have equally many rows."""
    return f"id % {keys}"


def of_group(frame: pd.DataFrame) -> pd.DataFrame:
    """Work on the rows of a customer."""
    time.sleep(len(frame) * COST_MS / 1000)
    return pd.DataFrame({"customer": [frame["customer"].iloc[0]], "messages": [len(frame)]})


def of_table(table: pa.Table) -> pa.Table:
    """Work on the rows of a customer, as an Arrow table."""
    time.sleep(len(table) * COST_MS / 1000)
    return pa.table({"customer": table["customer"][:1], "messages": [len(table)]})


def of_batches(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Work on rows in batches, whatever their customers."""
    for each in batches:
        time.sleep(len(each) * COST_MS / 1000)
        yield pd.DataFrame({"customer": each["customer"], "messages": 1})


def done(df: DataFrame) -> None:
    """Compute all rows of a DataFrame, and discard them."""
    df.write.format("noop").mode("overwrite").save()


def merged(parts: pd.DataFrame) -> pd.DataFrame:
    """Merge the results of `of_group` for the parts of a customer's rows."""
    total = {"customer": parts["customer"].iloc[0], "messages": parts["messages"].sum()}
    return pd.DataFrame([total])


def merged_table(parts: pa.Table) -> pa.Table:
    """Merge the results of `of_table` for the parts of a customer's rows."""
    total = sum(parts["messages"].to_pylist())
    return pa.table({"customer": parts["customer"][:1], "messages": [total]})


def applied(key: str) -> Callable[[SparkSession], object]:
    return lambda spark: done(
        rows_of(spark, key).groupBy("customer").applyInPandas(of_group, COUNTED)
    )


def joined(spark: SparkSession, key: str) -> DataFrame:
    left, right = sides(spark, key)
    return left.join(right, "customer").mapInPandas(of_batches, COUNTED)


def sides(spark: SparkSession, key: str) -> tuple[DataFrame, DataFrame]:
    customers = spark.range(0, 501).select(F.col("id").alias("customer"), F.lit("x").alias("name"))
    return rows_of(spark, key), customers


def join_changed(spark: SparkSession) -> None:
    both = eks.join(*sides(spark, hot()), "customer", "inner", workers=SLOTS)
    done(both.mapInPandas(of_batches, COUNTED))


def windowed(df: DataFrame, *keys: str) -> None:

    @F.pandas_udf("double")  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def slow_mean(amounts: pd.Series) -> float:
        time.sleep(len(amounts) * COST_MS / 1000)
        return float(amounts.mean())

    done(df.withColumn("mean", slow_mean("amount").over(Window.partitionBy(*keys))))


def few(spark: SparkSession) -> DataFrame:
    """Make rows of twelve equal customers; by hash, one task gets five of them, another one."""
    return rows_of(spark, "id % 12")


def window_changed(spark: SparkSession) -> None:
    routed = eks.route(few(spark), "customer", "off-greedy", SLOTS)
    placed = eks.place(routed, SLOTS, by="split", key="customer")
    windowed(placed, "customer", "split")


def slow_sum(spark: SparkSession) -> None:
    @F.pandas_udf("double")  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def total(amounts: pd.Series) -> float:
        time.sleep(len(amounts) * COST_MS / 1000)
        return float(amounts.sum())

    done(rows_of(spark, hot(0.5)).groupBy("customer").agg(total("amount")))


def streamed(spark: SparkSession, key: str) -> DataFrame:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS // 4)
    loaded = rows.option("numPartitions", SLOTS).load()
    return loaded.withColumnRenamed("value", "id").select(
        F.expr(key).alias("customer"), "timestamp"
    )


def epochs(df: DataFrame, count: int, each: Callable[[DataFrame, int], None] | None = None) -> None:
    """Run `count` epochs of a stream."""
    writer = df.writeStream.outputMode("update").trigger(processingTime="0 seconds")
    writer = writer.format("noop") if each is None else writer.foreachBatch(each)
    query = writer.start()
    while (query.lastProgress or {"batchId": -1})["batchId"] < count - 1:
        if query.exception() is not None:
            break
        time.sleep(0.2)
    query.stop()


def apply_epochs(spark: SparkSession) -> None:
    def work(df: DataFrame, epoch: int) -> None:
        del epoch
        done(df.groupBy("customer").applyInPandas(of_group, COUNTED))

    epochs(streamed(spark, hot()), 4, work)


STEEP = "CAST(pow(2, pow(rand(7), 3) * 11) AS INT)"


def straggling(spark: SparkSession) -> None:
    """Run a job with balanced keys and one task that is slow for another reason."""

    def work(frame: pd.DataFrame) -> pd.DataFrame:
        time.sleep(6 if frame["customer"].iloc[0] == 17 else 0)
        return of_group(frame)

    done(rows_of(spark, balanced()).groupBy("customer").applyInPandas(work, COUNTED))


def left_joined(spark: SparkSession) -> DataFrame:
    left, right = sides(spark, hot(0.5))
    return left.join(right.hint("shuffle_hash"), "customer", "left")


def left_join_changed(spark: SparkSession) -> None:
    both = eks.join(*sides(spark, hot(0.5)), "customer", "left", workers=SLOTS)
    done(both.mapInPandas(of_batches, COUNTED))


def cogrouped(spark: SparkSession) -> None:
    def work(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        del right
        return of_group(left) if len(left) else pd.DataFrame({"customer": [], "messages": []})

    left, right = sides(spark, hot())
    both = left.groupBy("customer").cogroup(right.groupBy("customer"))
    done(both.applyInPandas(work, COUNTED))


def with_state(spark: SparkSession) -> None:
    def work(key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        rows = sum(map(len, frames))
        time.sleep(rows * COST_MS / 1000)
        state.update((rows,))
        yield pd.DataFrame({"customer": [key[0]], "messages": [rows]})

    groups = streamed(spark, hot()).groupBy("customer")
    epochs(groups.applyInPandasWithState(work, COUNTED, "messages long", "update", "NoTimeout"), 3)


JOBS = (
    Job(
        "apply-skewed",
        applied(hot()),
        ("FlatMapGroupsInPandas",),
        changed=lambda spark: done(
            eks.groupBy(rows_of(spark, hot()), "customer", workers=SLOTS).applyInPandas(
                of_group, COUNTED, merge=merged
            )
        ),
        how="split",
    ),
    Job("apply-balanced", applied(balanced())),
    Job(
        "apply-arrow-skewed",
        lambda spark: done(
            rows_of(spark, hot(0.45)).groupBy("customer").applyInArrow(of_table, COUNTED)
        ),
        ("FlatMapGroupsInArrow",),
        (("spark.sql.adaptive.enabled", "false"),),
        lambda spark: done(
            eks.groupBy(rows_of(spark, hot(0.45)), "customer", workers=SLOTS).applyInArrow(
                of_table, COUNTED, merge=merged_table
            )
        ),
        "split",
    ),
    Job(
        "count-skewed",
        lambda spark: done(rows_of(spark, hot(), 20_000_000).groupBy("customer").count()),
    ),
    Job("udaf-skewed", slow_sum, ("ArrowAggregatePython",)),
    Job(
        "join-skewed",
        lambda spark: done(joined(spark, hot())),
        ("SortMergeJoin",),
        (),
        join_changed,
        "split",
    ),
    Job("join-balanced", lambda spark: done(joined(spark, balanced(500)))),
    Job(
        "distinct-skewed",
        lambda spark: done(
            rows_of(spark, hot(), 2_000_000)
            .groupBy("customer")
            .agg(F.count_distinct("shop name"), F.sum("amount"))
        ),
    ),
    Job(
        "window-few",
        lambda spark: windowed(few(spark), "customer"),
        ("ArrowWindowPython",),
        (),
        window_changed,
        "whole",
    ),
    Job(
        "repartition-skewed",
        lambda spark: done(
            rows_of(spark, hot()).repartition(SLOTS, "customer").mapInPandas(of_batches, COUNTED)
        ),
        ("MapInPandas",),
        changed=lambda spark: done(
            eks.place(
                eks.route(rows_of(spark, hot()), "customer", "planned", SLOTS), SLOTS
            ).mapInPandas(of_batches, COUNTED)
        ),
        how="split",
    ),
    Job("epochs-skewed", apply_epochs, ("FlatMapGroupsInPandas",)),
    Job(
        "stream-count-skewed",
        lambda spark: epochs(streamed(spark, hot()).groupBy("customer").count(), 4),
    ),
)

# These jobs were diagnosed only after the limits of `Thresholds` were frozen, and none was tuned.
LATER = (
    Job(
        "composite-zipf",
        lambda spark: done(
            rows_of(spark, STEEP).groupBy("customer", "shop name").applyInPandas(of_group, COUNTED)
        ),
        ("FlatMapGroupsInPandas",),
    ),
    Job("straggler", straggling),
    Job(
        "left-join-skewed",
        lambda spark: done(left_joined(spark).mapInPandas(of_batches, COUNTED)),
        ("ShuffledHashJoin",),
        (),
        left_join_changed,
        "split",
    ),
    # When the limits were frozen, evenkey had no remedy for cogroups.
    Job("cogroup-skewed", cogrouped, ("FlatMapCoGroupsInPandas",)),
    Job("stream-state-skewed", with_state),
    Job(
        "many-partitions",
        applied(hot(0.5)),
        ("FlatMapGroupsInPandas",),
        (("spark.sql.shuffle.partitions", "32"),),
    ),
)
ALL = (*JOBS, *LATER)


def run(job: Job, kind: str) -> None:
    """Run a job in its own session, as it is or with its change, and store its time."""
    logs = BUILD / kind / job.name
    shutil.rmtree(logs, ignore_errors=True)  # left by a run that was stopped
    logs.mkdir(parents=True)
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": logs.as_uri(), **USUAL}
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{SLOTS}]").appName(job.name)
    for name, value in {**settings, "spark.ui.enabled": "false", **dict(job.settings)}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # Start the Python workers before the clock starts.
    spark.range(0, SLOTS, 1, SLOTS).mapInPandas(lambda frames: frames, "id long").collect()
    began = time.monotonic()
    (job.changed if kind == CHANGED and job.changed else job.run)(spark)
    seconds = time.monotonic() - began
    spark.stop()
    (logs.parent / f"{job.name}.json").write_text(json.dumps({"seconds": seconds}))
    CONSOLE.print(f"{job.name}, {kind}: {seconds:.1f} s")


def seconds_of(job: Job, kind: str) -> float | None:
    """Return the seconds that a job took; None if it has not run."""
    file = BUILD / kind / f"{job.name}.json"
    return float(json.loads(file.read_text())["seconds"]) if file.exists() else None


def diagnosed(job: Job) -> Diagnosed:
    """Diagnose the log of the unchanged job."""
    (one,) = diagnose(BUILD / LOGS / job.name).applications
    return one


def judge(jobs: Iterable[Job]) -> None:
    """Compare the stages that the diagnosis names with those that it should name."""
    right, too_many, missed = 0, 0, 0
    for job in jobs:
        one = diagnosed(job)
        named = [each.run.read.operator for each in one.named]
        wrong = [each for each in named if each not in job.named]
        lost = [each for each in job.named if each not in named]
        right += len(named) - len(wrong)
        too_many, missed = too_many + len(wrong), missed + len(lost)
        said = "; ".join(f"{each.run.read.operator}: {each.reason}" for each in one.findings)
        CONSOLE.print(f"{'WRONG' if wrong or lost else 'right'} {job.name:20} {said}")
    precision = right / (right + too_many) if right + too_many else 1.0
    recall = right / (right + missed) if right + missed else 1.0
    CONSOLE.print(f"precision {precision:.3f}, recall {recall:.3f} of {right + missed} stages")


def measure(jobs: Iterable[Job]) -> None:
    """Print the predicted gains, and those measured with the changed jobs.

    The gains are those of the stage alone, without counting keys. The times of whole jobs also
    include what the change itself costs in a fresh process: counting the input, planning, starting.
    """
    for job in jobs:
        before, after = seconds_of(job, LOGS), seconds_of(job, CHANGED)
        if before is None or after is None:
            continue
        finding = diagnosed(job).findings[0]
        change = next(each for each in finding.changes if each.remedy.how == job.how)
        stage = longest_stage(job)
        alone = change.seconds - change.counting
        predicted, measured = finding.work.seconds / alone, finding.work.seconds / stage
        CONSOLE.print(
            f"{job.name:20} {job.how:6} stage {finding.work.seconds:.2f} s, {alone:.2f} s "
            f"predicted, {stage:.2f} s measured; gain {predicted:.2f} predicted, {measured:.2f} "
            f"measured ({100 * (predicted / measured - 1):+.0f} %); job {before:.2f} s, "
            f"{after:.2f} s"
        )


def longest_stage(job: Job) -> float:
    """Return the seconds of the longest stage of a changed job, without its warm-up.

    As in predictions, its tasks are scheduled in the order in which they began.
    """
    (log,) = find_logs(BUILD / CHANGED / job.name).logs
    known = read_log(log)
    first = min(each.execution or 0 for each in known.stages)
    return max(
        makespan(
            [task.seconds for task in sorted(each.tasks, key=lambda task: task.started)],
            known.slots,
        )
        for each in known.stages
        if each.execution != first
    )


def keep(jobs: Iterable[Job], into: Path = KEPT) -> None:
    """Write the events of each log that the diagnosis reads, compressed, for the tests."""
    for job in jobs:
        (log,) = find_logs(BUILD / LOGS / job.name).logs
        lines = [json.dumps(trimmed(event)) for event in log.events(READ)]
        into.mkdir(exist_ok=True)
        text = "".join(f"{line}\n" for line in lines).replace(f"{ROOT}/", "")
        content = gzip.compress(text.encode(), mtime=0)
        (into / f"{job.name}.gz").write_bytes(content)


def trimmed(thing: Any) -> Any:
    """Drop from an event what makes it long, and what reveals where it was written."""
    if isinstance(thing, list):
        return [trimmed(each) for each in thing if is_read(each)]
    if not isinstance(thing, dict):
        return thing
    kept = {name: trimmed(each) for name, each in thing.items() if name not in LONG}
    for name in ("Spark Properties", "Properties"):
        if name in kept:
            kept[name] = {each: kept[name][each] for each in PROPERTIES if each in kept[name]}
    return kept


def is_read(thing: Any) -> bool:
    """Return whether a list's entry is read; of accumulators and metrics, only a few are."""
    if not isinstance(thing, dict) or "name" not in {each.lower() for each in thing}:
        return True
    name = thing.get("Name", thing.get("name"))
    return "nodeName" in thing or name in METRICS


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("run", "judge", "measure", "keep"))
    parser.add_argument("--job", choices=[each.name for each in ALL], action="append")
    chosen = parser.parse_args()
    jobs = [each for each in ALL if chosen.job is None or each.name in chosen.job]
    kind = CHANGED if chosen.what == "measure" else LOGS
    for job in jobs:
        wanted = kind == LOGS or job.changed is not None
        if chosen.what in ("run", "measure") and wanted and seconds_of(job, kind) is None:
            run(job, kind)
    if chosen.what == "judge":
        for title, made in (("before the limits were frozen", JOBS), ("after", LATER)):
            CONSOLE.print(f"Jobs made {title}")
            judge([each for each in jobs if each in made and seconds_of(each, LOGS) is not None])
    if chosen.what == "measure":
        measure(jobs)
    if chosen.what == "keep":
        keep(each for each in jobs if seconds_of(each, LOGS) is not None)


if __name__ == "__main__":
    main()
