"""Run five unchanged jobs plainly, recorded, and by their profiles: figures of the documentation.

The jobs are programs as users write them, in `benchmarks/unchanged/`: a notebook, functions, a
class, a library that builds DataFrames, and two steps of which the second reads the first. Each row
sleeps 4 ms, so that slots stand for cores on any machine. Each run is a process of its own, on 16
slots. Makespans are those of the longest stage in Spark's event log, which this program reads
itself.

    python benchmarks/unchanged_jobs.py run                # five jobs; about ten minutes
    python benchmarks/unchanged_jobs.py run --job notebook
    python benchmarks/unchanged_jobs.py outdated           # with profiles whose hot keys changed
    python benchmarks/unchanged_jobs.py call               # cost of a call that is not rerouted
"""

from __future__ import annotations

import argparse
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
from typing import TYPE_CHECKING, Any

from evenkey import spark as eks
from evenkey.core.profiles import Profile, read_profile, write_profile

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).parent.absolute()
JOBS = ("notebook", "functions", "matcher", "uses_library", "two_steps")
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


def run(job: str, kind: str, *command: str) -> tuple[str, float]:
    """Run a job; return its standard error, and the makespan of its longest stage in seconds."""
    logs = BUILD / job / f"{kind}-logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    settings = {**SETTINGS, "spark.eventLog.dir": logs.as_uri()}
    options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    submit = f"--master local[{SLOTS}] {options} pyspark-shell"
    file = str(HERE / "unchanged" / f"{job}.py")
    given = [each.format(job=file, result=BUILD / job / f"{kind}.json") for each in command]
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": submit, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, *given], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stderr, longest_stage(logs)


def longest_stage(logs: Path) -> float:
    """Return the seconds from the first start of a task of a stage to the last end."""
    spans: dict[int, tuple[int, int]] = {}
    for event in (event for log in logs.iterdir() for event in events(log)):
        if event["Event"] == "SparkListenerTaskEnd":
            task, stage = event["Task Info"], event["Stage ID"]
            begin, end = task["Launch Time"], task["Finish Time"]
            known = spans.get(stage, (begin, end))
            spans[stage] = min(begin, known[0]), max(end, known[1])
    return max(end - begin for begin, end in spans.values()) / 1000


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
        "before": round(before, 2),
        "after": round(after, 2),
        "faster": round(before / after, 2),
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
        "plain": round(plain, 2),
        "outdated": round(after, 2),
        "ratio": round(after / plain, 3),
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


def cost_of_a_call() -> dict[str, float]:
    """Measure what a call that the profile does not know costs the driver, in milliseconds."""
    spark = eks.session("local[2]")
    frame: Any = spark.range(100).selectExpr("id % 7 as user", "id")
    profile = BUILD / "empty.json"
    BUILD.mkdir(parents=True, exist_ok=True)
    write_profile(profile, Profile({}))

    def milliseconds() -> float:
        begin = time.perf_counter()
        frame.where("id > 3").groupBy("user").applyInPandas(lambda rows: rows, "user long, id long")
        return 1000 * (time.perf_counter() - begin)

    for _ in range(CALLS):
        milliseconds()
    plain = statistics.median(milliseconds() for _ in range(CALLS))
    with eks.balanced(spark, profile):
        inside = statistics.median(milliseconds() for _ in range(CALLS))
    spark.stop()
    return {"plain_ms": plain, "inside_ms": inside, "more_ms": inside - plain}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("run", "outdated", "call"))
    parser.add_argument("--job", choices=JOBS, action="append")
    given = parser.parse_args()
    if given.what == "call":
        found: Any = cost_of_a_call()
    else:
        measure = compared if given.what == "run" else outdated
        found = [measure(job) for job in given.job or JOBS]
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
