"""Run six unchanged jobs plainly, recorded, and by their profiles: figures of the documentation.

The jobs are programs as users write them, in `benchmarks/unchanged/`: a notebook, functions, a
class, a library that builds DataFrames, a SQL text that pairs people of one surname, and two steps
of which the second reads the first. Each row sleeps 4 ms, so that slots stand for cores on any
machine. Each run is a process of its own, on 16 slots. Makespans are those of the longest stage in
Spark's event log, which this program reads itself. With outdated profiles, the time from the start
of the first Spark job to the end of the last one is compared too: it has all shuffles, and the time
of the driver between jobs.

    python benchmarks/unchanged_jobs.py run                # six jobs; about five minutes
    python benchmarks/unchanged_jobs.py run --job notebook
    python benchmarks/unchanged_jobs.py outdated           # profiles with other hot keys; the same
    python benchmarks/unchanged_jobs.py call               # calls that are not rerouted; a minute

The last lines compare the figures with those that are wanted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.core.profiles import Operation, Profile, read_profile, write_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).parent.absolute()
JOBS = ("notebook", "functions", "matcher", "uses_library", "sql_text", "two_steps")
BUILD = HERE.parent / "build" / "unchanged"
SLOTS = 16
SETTINGS = {
    # Adaptive execution merges small partitions; at production sizes it would not merge these.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": str(SLOTS),
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.ui.enabled": "false",
}
PREDICTED = re.compile(r"predicted ([\d.,]+) s in place of ([\d.,]+) s, measured ([\d.,]+) s")
CALLS = 200
OFF, SLOWER, MORE_MS = 0.2, 1.1, 5.0
"""Wanted: error of a prediction, time of an outdated profile over the plain one, cost of a call."""


class Times(NamedTuple):
    """Seconds of a run: of its longest stage, and from its first Spark job to its last one."""

    stage: float
    whole: float


def run(job: str, kind: str, *command: str) -> tuple[str, Times]:
    """Run a job; return its standard error and its times."""
    logs = BUILD / job / f"{kind}-logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    settings = {**SETTINGS, "spark.eventLog.dir": logs.as_uri()}
    options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    submit = f"--master local[{SLOTS}] {options} pyspark-shell"
    file = str(HERE / "unchanged" / f"{job}.py")
    given = [each.format(job=file, result=BUILD / job / f"{kind}.json") for each in command]
    environment = {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": submit,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(HERE / "unchanged"),  # Workers must find the library, too.
    }
    done = subprocess.run(
        [sys.executable, *given], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stderr, times_of(logs)


def times_of(logs: Path) -> Times:
    """Return the times of a run from its event log."""
    spans: dict[int, tuple[int, int]] = {}
    begins, ends = [], []
    for event in (event for log in logs.iterdir() for event in events(log)):
        if event["Event"] == "SparkListenerTaskEnd":
            task, stage = event["Task Info"], event["Stage ID"]
            begin, end = task["Launch Time"], task["Finish Time"]
            known = spans.get(stage, (begin, end))
            spans[stage] = min(begin, known[0]), max(end, known[1])
        elif event["Event"] == "SparkListenerJobStart":
            begins.append(event["Submission Time"])
        elif event["Event"] == "SparkListenerJobEnd":
            ends.append(event["Completion Time"])
    longest = max(end - begin for begin, end in spans.values())
    return Times(longest / 1000, (max(ends) - min(begins)) / 1000)


def events(log: Path) -> Iterable[dict[str, Any]]:
    with log.open() as lines:
        for line in lines:
            yield json.loads(line)


def submitted(*options: str) -> tuple[str, ...]:
    return ("-m", "evenkey", "submit", *options, "{job}", "--", "{result}")


def recorded(job: str) -> Path:
    """Record a profile, and add the task times of the recorded run to it."""
    profile = BUILD / job / "profile.json"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.unlink(missing_ok=True)
    run(job, "recorded", *submitted("--profile", str(profile)))
    logs = BUILD / job / "recorded-logs"
    command = ("-m", "evenkey", "diagnose", str(logs), "--profile", str(profile), "--json")
    subprocess.run([sys.executable, *command], capture_output=True, check=True)
    return profile


def result(job: str, kind: str) -> Any:
    return json.loads((BUILD / job / f"{kind}.json").read_text())


def compared(job: str) -> dict[str, Any]:
    """Run a job plainly and by its profile."""
    profile = recorded(job)
    _, before = run(job, "plain", "{job}", "{result}")
    said, after = run(job, "balanced", *submitted("--profile", str(profile)))
    figures = [
        tuple(float(each.replace(",", "")) for each in found) for found in PREDICTED.findall(said)
    ]
    return {
        "job": job,
        "equal": result(job, "plain") == result(job, "balanced"),
        "before": round(before.stage, 2),
        "after": round(after.stage, 2),
        "faster": round(before.stage / after.stage, 2),
        "whole_job": [round(before.whole, 2), round(after.whole, 2)],
        "predicted": [planned for planned, _, _ in figures],
        "measured": [measured for _, _, measured in figures],
        "off": [round(measured / planned - 1, 3) for planned, _, measured in figures],
        "said": said.splitlines(),
    }


def outdated(job: str) -> dict[str, Any]:
    """Run a job by a profile with other hot keys than the job has."""
    profile = recorded(job)
    operations = read_profile(profile).operations
    write_profile(profile, Profile({name: with_other_keys(op) for name, op in operations.items()}))
    _, plain = run(job, "plain", "{job}", "{result}")
    said, after = run(job, "outdated", *submitted("--profile", str(profile), "--least-gain", "0"))
    return {
        "job": job,
        "equal": result(job, "plain") == result(job, "outdated"),
        "plain": round(plain.stage, 2),
        "outdated": round(after.stage, 2),
        "ratio": round(after.stage / plain.stage, 3),
        "whole_job": [round(plain.whole, 2), round(after.whole, 2)],
        "whole_ratio": round(after.whole / plain.whole, 3),
        "noticed": "the profile is out of date" in said,
    }


def with_other_keys(operation: Any) -> Any:
    inputs = tuple(
        replace(
            rows,
            keys=tuple(replace(key, hashed=key.hashed ^ 0x9E3779B97F4A7C15) for key in rows.keys),
        )
        for rows in operation.inputs
    )
    return replace(operation, inputs=inputs)


def costs_of_calls() -> list[dict[str, Any]]:
    """Measure what calls that the profile does not know cost the driver, in milliseconds."""
    spark = eks.session("local[2]")
    frame: Any = spark.range(100).selectExpr("id % 7 as user", "id")
    names = spark.range(7).selectExpr("id as user", "id + 1 as size")
    frame.createOrReplaceTempView("frame")
    names.createOrReplaceTempView("names")
    long = frame
    for number in range(20):
        long = long.where(f"id <> {number}").withColumn(f"c{number}", F.col("id") + number)
    schema = "user long, id long"
    numbers = itertools.count()
    written = str(BUILD / "written")
    frame.write.mode("overwrite").partitionBy("user").parquet(written)
    calls: dict[str, Callable[[], Any]] = {
        "applyInPandas": lambda: frame.groupBy("user").applyInPandas(lambda rows: rows, schema),
        "cogroup": lambda: (
            frame.groupBy("user")
            .cogroup(names.groupBy("user"))
            .applyInPandas(lambda left, _: left, schema)
        ),
        "join": lambda: frame.join(names, "user"),
        "sql": lambda: spark.sql("select * from frame join names using (user)"),
        "sql, a new text each time": lambda: spark.sql(
            "select * from frame join names using (user) where id <> :n", {"n": next(numbers)}
        ),
        # Spark writes nothing where something is, so the time is that of the driver.
        "write": lambda: frame.write.mode("ignore").partitionBy("user").parquet(written),
        "write after repartition": lambda: (
            frame.repartition("user").write.mode("ignore").partitionBy("user").parquet(written)
        ),
        "applyInPandas after 40 operators": lambda: long.groupBy("user").applyInPandas(
            lambda rows: rows, schema
        ),
    }
    profile = BUILD / "other.json"
    BUILD.mkdir(parents=True, exist_ok=True)
    # With such a join in the profile, SQL texts are read too. It could be in each of them.
    other = Operation("SQL join Inner", ("(user = user)",), (), time.time())
    write_profile(profile, Profile({"0" * 16: other}))
    found = []
    for name, call in calls.items():
        median_ms(call)  # Java compiles
        plain = median_ms(call)
        with eks.balanced(spark, profile):
            median_ms(call)
            inside = median_ms(call)
        more = round(inside - plain, 2)
        plain, inside = round(plain, 2), round(inside, 2)
        found.append({"call": name, "plain_ms": plain, "inside_ms": inside, "more_ms": more})
    spark.stop()
    return found


def median_ms(call: Callable[[], object]) -> float:
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times)


def verdicts(what: str, found: list[dict[str, Any]]) -> Iterable[str]:
    """Yield what was found beside what is wanted."""
    every = len(found)
    if what == "call":
        most = max(each["more_ms"] for each in found)
        yield f"at most {most} ms more for a call (wanted: less than {MORE_MS})"
        return
    yield f"equal results: {sum(each['equal'] for each in found)} of {every} (wanted: all)"
    if what == "outdated":
        most = max(each["ratio"] for each in found)
        yield f"at most {most} times the plain makespan (wanted: at most {SLOWER})"
        most = max(each["whole_ratio"] for each in found)
        yield f"at most {most} times the plain time of the job (wanted: at most {SLOWER})"
        yield f"noticed: {sum(each['noticed'] for each in found)} of {every} (wanted: all)"
        return
    faster = sum(each["faster"] > 1 for each in found)
    yield f"faster: {faster} of {every}, {[each['faster'] for each in found]}"
    close = [bool(each["off"]) and max(map(abs, each["off"])) <= OFF for each in found]
    yield f"predictions within {OFF:.0%}: {sum(close)} of {every} (wanted: all)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("run", "outdated", "call"))
    parser.add_argument("--job", choices=JOBS, action="append")
    given = parser.parse_args()
    if given.what == "call":
        found = costs_of_calls()
    else:
        measure = compared if given.what == "run" else outdated
        found = [measure(job) for job in given.job or JOBS]
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    for line in verdicts(given.what, found):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
