"""A job that a hot key slows down, and its balanced version: python examples/demo.py [DIRECTORY].

The program runs both versions with two kinds of work. A row that waits sleeps for 2 ms, like a call
of a service; sleep needs no core, so all workers wait at the same time on few cores too. A row that
computes keeps a core busy for about 2 ms, so the number of cores limits the gain. All figures are
measured while the program runs.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from pyspark.sql import functions as F

import evenkey as ek
from evenkey import spark as eks
from evenkey.reports import diagnosis, pictures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

WORKERS = 8
ROWS = 5_000
SECONDS = 0.002
SCHEMA = "user string, score bigint"
SHOWN = 3
SAME = (0.95, 1.05)
SLOW, FAST = "groupBy(...).applyInPandas(...)", "eks.groupBy(...).applyInPandas(..., merge=...)"


def skewed(df: DataFrame, score: Callable[[pd.DataFrame], pd.DataFrame]) -> DataFrame:
    """Group as Spark does: all rows of a user are in one task."""
    return df.groupBy("user").applyInPandas(score, SCHEMA)


def balanced(df: DataFrame, score: Callable[[pd.DataFrame], pd.DataFrame]) -> DataFrame:
    """Split the rows of the hot user over several tasks, and add up the scores of the parts."""
    total = F.sum("score").alias("score")
    return eks.groupBy(df, "user").applyInPandas(score, SCHEMA, merge=total)


@dataclass(frozen=True)
class Work:
    """The work on a row.

    Parameters
    ----------
    name
        What a row does.
    master
        Spark's master, which determines the number of tasks that run at the same time.
    do
        Function that does the work.
    """

    name: str
    master: str
    do: Callable[[], object]

    def score(self) -> Callable[[pd.DataFrame], pd.DataFrame]:
        """Return a function for `applyInPandas`, which does the work on all rows of a user."""
        do = self.do

        def score(rows: pd.DataFrame) -> pd.DataFrame:
            for _ in rows.index:
                do()
            return pd.DataFrame({"user": rows["user"].iloc[:1], "score": rows["amount"].sum()})

        return score


@dataclass(frozen=True)
class Job:
    """A job that ran: the seconds since 1970 at its start, its duration, and its scores by user."""

    began: float
    seconds: float
    scores: dict[str, int]


@dataclass(frozen=True)
class Comparison:
    """The skewed and the balanced job on `clicks` rows; `slots` tasks run at the same time."""

    name: str
    clicks: int
    slots: int
    slow: Job
    fast: Job

    @property
    def gain(self) -> str:
        """The speedup of the balanced job."""
        ratio = self.slow.seconds / self.fast.seconds
        if SAME[0] < ratio < SAME[1]:
            return "as fast"
        return f"{ratio:.1f}x faster" if ratio > 1 else f"{1 / ratio:.1f}x slower"


def main(directory: Path, rows: int = ROWS) -> Path:
    """Run both jobs with both kinds of work, print their times, and return the page."""
    shutil.rmtree(directory, ignore_errors=True)
    events = directory.resolve() / "events"
    events.mkdir(parents=True)
    works = (
        Work("rows wait", f"local[{WORKERS}]", functools.partial(time.sleep, SECONDS)),
        Work("rows compute", "local[*]", functools.partial(hashed, rounds())),
    )
    print(f"{rows:,} clicks, 80 % by one user; {1000 * SECONDS:.0f} ms of work per click")
    comparisons = [compare(work, rows, events) for work in works]
    found = ek.diagnose(events)
    print("\nWhat Spark's event log says of the jobs:\n")
    for stage in found.named:
        print(f"  {stage.application.name}: skew slows down {', '.join(stage.keys)}; change to:")
        print(f"    {stage.changes[0].remedy.code}")
    diagnosis.write_page(found, directory / "diagnosis.html")
    return write_page(comparisons, found, directory / "index.html")


def rounds() -> int:
    """Return how many rounds of hashing take about `SECONDS` on this machine."""
    tried = 100_000
    begun = time.perf_counter()
    hashed(tried)
    return max(1, round(tried * SECONDS / (time.perf_counter() - begun)))


def hashed(rounds: int) -> bytes:
    """Keep a core busy."""
    return hashlib.pbkdf2_hmac("sha256", b"click", b"demo", rounds)


def compare(work: Work, rows: int, events: Path) -> Comparison:
    """Run both jobs on a new Spark session, and check that their results are equal."""
    settings = {
        "spark.app.name": work.name,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        # Spark would put so little data into one task, and the skewed job would be slower still.
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.ui.enabled": "false",
    }
    print(f"\n{work.name.capitalize()}: starting Spark ...", flush=True)
    spark = eks.session(work.master, settings)
    slots = spark.sparkContext.defaultParallelism
    spark.conf.set("spark.sql.shuffle.partitions", slots)
    user = F.expr("if(id % 5 < 4, 'ann', 'user ' || id % 499)").alias("user")
    clicks = spark.range(0, rows, 1, 4).select(user, (F.col("id") % 7).alias("amount"))
    for job in (skewed, balanced):
        job(
            clicks.limit(20 * slots), work.score()
        ).collect()  # starts Python: not a part of figures
    slow = measure(skewed, clicks, work)
    print(f"  {SLOW:<48}{slow.seconds:5.1f} s", flush=True)
    fast = measure(balanced, clicks, work)
    print(f"  {FAST:<48}{fast.seconds:5.1f} s, counting the keys included")
    spark.stop()
    if slow.scores != fast.scores:
        message = "the two jobs gave different results"
        raise AssertionError(message)
    made = Comparison(work.name, rows, slots, slow, fast)
    print(f"  {made.gain} with {slots} tasks at a time, and the same {len(fast.scores):,} results")
    return made


def measure(job: Callable[..., DataFrame], df: DataFrame, work: Work) -> Job:
    """Run a job."""
    began, ticks = time.time(), time.perf_counter()
    rows = job(df, work.score()).collect()
    return Job(began, time.perf_counter() - ticks, {row["user"]: row["score"] for row in rows})


def write_page(comparisons: Sequence[Comparison], found: diagnosis.Diagnosis, file: Path) -> Path:
    """Write the page that shows the jobs above each other, and return its path."""
    tasks = {
        one.application.name: [task for stage in one.application.stages for task in stage.tasks]
        for one in found.applications
    }
    plots = [timeline(each, tasks[each.name]).plot() for each in comparisons]
    template = Path(__file__).with_name("demo.html")
    return pictures.write_page(
        file,
        template,
        plots,
        comparisons=comparisons,
        table=times(comparisons),
        scores=scores(comparisons[0]),
        changes=changes(),
        milliseconds=1000 * SECONDS,
        shown=SHOWN,
    )


def timeline(made: Comparison, tasks: Sequence[diagnosis.Task]) -> pictures.Timeline:
    """Put the tasks of both jobs that read rows by key on one time axis."""
    jobs = {
        f"{name}: {job.seconds:.1f} s": [
            pictures.Span(task.started - job.began, task.started - job.began + task.seconds, colour)
            for task in tasks
            if job.began <= task.started < job.began + job.seconds
        ]
        for name, job, colour in (
            ("Spark", made.slow, pictures.GROUPINGS["kg"]),
            ("evenkey", made.fast, pictures.GROUPINGS["planned"]),
        )
    }
    title = f"Tasks that read rows by key if {made.name}, one bar per task"
    return pictures.Timeline(title, jobs)


def times(comparisons: Sequence[Comparison]) -> pictures.Table:
    """Make the table of times."""
    columns = (
        pictures.Column("work", "Work"),
        pictures.Column("slots", "Slots", ",d"),
        pictures.Column("spark", "Spark, s", ",.1f"),
        pictures.Column("evenkey", "evenkey, s", ",.1f"),
        pictures.Column("gain", "Speedup", "s"),
    )
    rows = [
        {
            "work": each.name,
            "slots": each.slots,
            "spark": each.slow.seconds,
            "evenkey": each.fast.seconds,
            "gain": each.gain.removesuffix(" faster"),
        }
        for each in comparisons
    ]
    note = (
        "Each slot runs one task at a time. The times of evenkey include counting the keys and "
        "merging the parts."
    )
    return pictures.Table("Times", columns, pd.DataFrame(rows), note)


def scores(made: Comparison) -> pictures.Table:
    """Make the table of the highest scores, as both jobs computed them."""
    best = sorted(made.slow.scores, key=lambda user: -made.slow.scores[user])[:SHOWN]
    frame = pd.DataFrame(
        {
            "user": best,
            "spark": [made.slow.scores[user] for user in best],
            "evenkey": [made.fast.scores[user] for user in best],
        }
    )
    columns = (
        pictures.Column("user", "User"),
        pictures.Column("spark", "Score, Spark", ",d"),
        pictures.Column("evenkey", "Score, evenkey", ",d"),
    )
    equal = f"The highest {SHOWN} of {len(made.slow.scores):,} results; all are equal."
    return pictures.Table("Equal results", columns, frame, equal)


def changes() -> list[str]:
    """Return the lines that differ between the two jobs; each begins with ``+`` or ``-``."""
    before, after = (
        inspect.getsource(job).splitlines()[2:]  # without the definition and the docstring
        for job in (skewed, balanced)
    )
    _, _, _, *lines = difflib.unified_diff(before, after, n=0, lineterm="")
    return ["+from evenkey import spark as eks", *(f"{each[0]}{each[5:]}" for each in lines)]


if __name__ == "__main__":
    given = sys.argv[1:]
    page = main(Path(given[0]) if given else Path("build/demo"))
    print(f"\nOpen {page.resolve().as_uri()}")
