"""Measure windows and as-of joins over a hot key, beside Spark's own and pandas.

`windows`: row_number, a running sum and lag by `eks.over` and by Spark's window, interleaved, on
two slots, with a hot key (60 % of the rows) and without. The tasks of the event log are also
scheduled on `--workers` slots, with all jobs of a call and of its result. `small-executors`: the
same windows with a hot key on two executors of 1 GiB. `joins`: as-of joins by `eks.asof_join`, by
Spark's own and by cogroup with pandas, half of the rows of both sides of one symbol.

A way of `small-executors` and `joins` has a process of its own. If it fails or takes more than
`--limit` seconds, this is its outcome. Input and outcomes stay in `--directory`. A command that was
stopped goes on there; what the same code has measured with the same options is not run again,
unless `--again` is given. The rows that ways made are compared by their number and hashes; `equal`
is null if fewer than two ways made rows.

    python benchmarks/ordered_work.py windows            # about fifteen minutes on two cores
    python benchmarks/ordered_work.py small-executors    # about five minutes
    python benchmarks/ordered_work.py joins              # an hour: Spark's own until the limit
    python benchmarks/ordered_work.py joins --ways all-pairs    # until the limit
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

# The directory of a program comes first on the path, not that of the project.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.against_spark import USUAL
from benchmarks.logged_jobs import idle_seconds, largest_task, scheduled_seconds
from benchmarks.ordered_ways import JOINS, WINDOWS
from benchmarks.own_process import apart, commit, kept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.logged_jobs import Logged

LOCAL, SMALL = "local[2]", "local-cluster[2,1,1024]"
FILE_BYTES = str(128 << 20)
SETTINGS = {
    **USUAL,
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    # Each file of the input is a partition, as many as there are slots in the schedule.
    "spark.sql.files.openCostInBytes": FILE_BYTES,
    "spark.sql.files.maxPartitionBytes": FILE_BYTES,
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}
MEMORY = {
    "spark.eventLog.logStageExecutorMetrics": "true",
    "spark.executor.processTreeMetrics.enabled": "true",
    "spark.executor.metrics.pollingInterval": "1s",
}
"""Settings for the memory of processes in event logs."""
CASES = {"skewed": 6, "uniform": 0}
"""Tenths of the rows that have one key."""
TARGETS = {
    "skewed": {
        "largest_over_mean": ("at most", 1.15),
        "processor_ratio": ("at most", 1.5),
        "times_faster_when_scheduled": ("at least", 4.0),
        "wall_ratio": ("at most", 1.25),
    },
    "uniform": {"processor_ratio": ("at most", 1.1), "wall_ratio": ("at most", 1.1)},
}


def input_of(given: argparse.Namespace, name: str, work: str, *sizes: int) -> Path:
    """Return the folder of an input, which is written if it is not there."""
    folder: Path = given.directory / f"{name}-{'-'.join(map(str, sizes))}"
    if not folder.exists():
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)  # left by a program that was stopped
        task = {
            "do": "write",
            "work": work,
            "folder": str(part),
            "sizes": sizes,
            "master": LOCAL,
            "settings": SETTINGS,
        }
        outcome, _ = apart(task, given.directory, given.limit)
        if "failed" in outcome:
            sys.exit(f"the input cannot be written: {outcome['failed']}")
        part.rename(folder)
    return folder


def common(given: argparse.Namespace, master: str = LOCAL) -> dict[str, Any]:
    settings = SETTINGS | {"spark.sql.shuffle.partitions": str(given.workers)}
    if given.memory:
        settings["spark.driver.memory"] = given.memory
    return {"master": master, "settings": settings, "workers": given.workers}


def balance(logged: Logged, workers: int) -> dict[str, float]:
    """Return the rows of the largest task, and these over the mean of W tasks."""
    largest, rows = largest_task(logged)
    return {
        "largest_task_rows": largest.rows,
        "largest_over_mean": largest.rows * workers / rows if rows else 1.0,
    }


def spilled(logged: Logged) -> dict[str, float]:
    return {
        "spilled_memory_bytes": sum(each.spilled_memory for each in logged.tasks),
        "spilled_disk_bytes": sum(each.spilled_disk for each in logged.tasks),
    }


def of_one_run(outcome: dict[str, Any], logged: Logged, workers: int) -> dict[str, Any]:
    """Return the figures of a way that ran once; those of the log also if the way failed."""
    run = outcome.get("run", {})
    figures: dict[str, Any] = {
        **{name: outcome[name] for name in ("failed", "digest") if name in outcome},
        **{name: run[name] for name in ("seconds", "processor_seconds") if name in run},
    }
    if not logged.tasks:
        return figures
    if "failed" not in outcome:
        largest, _ = largest_task(logged)
        figures |= balance(logged, workers) | {
            "largest_task_seconds": largest.ended - largest.started,
            "largest_task_execution_bytes": largest.execution_memory,
        }
    return {
        **figures,
        **spilled(logged),
        "most_execution_bytes": max(each.execution_memory for each in logged.tasks),
        "most_heap_bytes": max(each.heap for each in logged.tasks),
        "most_java_bytes": max(each.java for each in logged.tasks),
        "most_python_bytes": max(each.python for each in logged.tasks),
        "failed_tasks": sum(not each.succeeded for each in logged.tasks),
        "lost_executors": logged.lost,
    }


def of_runs(outcome: dict[str, Any], logged: Logged, workers: int) -> dict[str, Any]:
    """Return medians of each way, with its schedule on W slots."""
    if "failed" in outcome:
        return outcome
    ways: dict[str, dict[str, float]] = {}
    for name, runs in outcome["runs"].items():
        lines = []
        for run in runs:
            own = logged.between(run["began"], run["ended"])
            lines.append(
                {
                    "seconds": run["seconds"],
                    "processor_seconds": run["processor_seconds"],
                    "scheduled_seconds": scheduled_seconds(own, workers),
                    "seconds_between_tasks": idle_seconds(own, run["began"], run["ended"]),
                    "jobs": len(own.jobs),
                    **balance(own, workers),
                    **spilled(own),
                }
            )
        ways[name] = {key: statistics.median(line[key] for line in lines) for key in lines[0]}
    return {"equal": len({*map(tuple, outcome["digests"].values())}) == 1, "ways": ways}


def windows(given: argparse.Namespace) -> dict[str, Any]:
    """Measure windows with and without a hot key."""
    cases = {}
    for name, tenths in CASES.items():
        if given.case in ("all", name):
            task = {
                **common(given),
                "do": "interleaved",
                "work": "windows",
                "folder": str(input_of(given, "rows", "windows", given.rows, tenths)),
                "rounds": given.rounds,
                "cached": given.cached,
            }
            found = kept(given, task, lambda *made: of_runs(made[0], made[1], given.workers))
            cases[name] = found if "failed" in found else found | {"ratios": ratios(name, found)}
    return {"cases": cases}


def ratios(case: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return what the targets are about, each figure beside its target."""
    own, plain = found["ways"]["evenkey"], found["ways"]["spark"]
    figures = {
        "largest_over_mean": own["largest_over_mean"],
        "processor_ratio": own["processor_seconds"] / plain["processor_seconds"],
        "times_faster_when_scheduled": plain["scheduled_seconds"] / own["scheduled_seconds"],
        "wall_ratio": own["seconds"] / plain["seconds"],
        "times_faster_with_time_between_tasks": (
            (plain["scheduled_seconds"] + plain["seconds_between_tasks"])
            / (own["scheduled_seconds"] + own["seconds_between_tasks"])
        ),
    }
    targets = TARGETS[case]
    return {
        name: {"figure": figure, "target": " ".join(map(str, targets.get(name, ())))}
        for name, figure in figures.items()
    }


def each_once(
    given: argparse.Namespace, work: str, ways: Iterable[str], folder: Path, master: str
) -> dict[str, Any]:
    """Run ways, each once and in a process of its own, and compare the rows that they made."""
    base = common(given, master)
    base["settings"] = base["settings"] | MEMORY
    found = {}
    for way in ways:
        task = {**base, "do": "once", "work": work, "way": way, "folder": str(folder)}
        found[way] = kept(given, task, lambda *made: of_one_run(made[0], made[1], given.workers))
    digests = [tuple(each["digest"]) for each in found.values() if "digest" in each]
    equal = len({*digests}) == 1 if len(digests) > 1 else None
    return {"equal": equal, "ways": found}


def small_executors(given: argparse.Namespace) -> dict[str, Any]:
    """Measure windows on executors of 1 GiB."""
    folder = input_of(given, "rows", "windows", given.rows, CASES["skewed"])
    return {"cases": {"skewed": each_once(given, "windows", WINDOWS, folder, SMALL)}}


def joins(given: argparse.Namespace) -> dict[str, Any]:
    """Measure as-of joins."""
    folder = input_of(given, "sides", "joins", given.left, given.right)
    case = each_once(given, "joins", given.ways.split(","), folder, LOCAL)
    for name, figures in case["ways"].items():
        figures["through"] = JOINS[name].through
    return {"cases": {"skewed": case}}


def show(outcome: dict[str, Any]) -> None:
    for name, case in outcome["cases"].items():
        sys.stdout.write(f"{name}\n")
        for way, figures in case.get("ways", {}).items():
            sys.stdout.write(f"  {way}\n" + lines(figures, "    "))
        rest = {key: value for key, value in case.items() if key not in ("ways", "ratios")}
        sys.stdout.write(lines(rest, "  "))
        for ratio, each in case.get("ratios", {}).items():
            target = f" ({each['target']})" if each["target"] else ""
            sys.stdout.write(f"  {ratio.replace('_', ' ')}: {each['figure']:.3f}{target}\n")


def lines(figures: dict[str, Any], before: str) -> str:
    return "".join(
        f"{before}{name.replace('_', ' ')}: {each:,.2f}\n"
        if isinstance(each, float)
        else f"{before}{name.replace('_', ' ')}: {each}\n"
        for name, each in figures.items()
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    of_all = argparse.ArgumentParser(add_help=False)
    of_all.add_argument("--workers", type=int, default=16, help="tasks, and slots of the schedule")
    of_all.add_argument("--limit", type=float, default=3600.0, help="seconds of a process")
    of_all.add_argument(
        "--directory", type=Path, default=Path("build/ordered-work"), help="of input, outcomes"
    )
    of_all.add_argument("--again", action="store_true", help="measure what is there, too")
    of_all.add_argument("--json", action="store_true", help="print one JSON object")
    commands = parser.add_subparsers(dest="command", required=True)
    rows = argparse.ArgumentParser(add_help=False)
    rows.add_argument("--rows", type=int, default=20_000_000, help="rows")
    memory = argparse.ArgumentParser(add_help=False)
    memory.add_argument("--memory", default="6g", help="memory of Spark's Java process")
    command = commands.add_parser("windows", parents=[of_all, rows, memory])
    command.add_argument("--rounds", type=int, default=5, help="how often each way runs")
    command.add_argument("--case", choices=("all", *CASES), default="all")
    command.add_argument("--cached", action="store_true", help="keep the input in memory")
    command.set_defaults(run=windows)
    command = commands.add_parser("small-executors", parents=[of_all, rows])
    command.set_defaults(run=small_executors, memory="")
    command = commands.add_parser("joins", parents=[of_all, memory])
    command.add_argument("--left", type=int, default=50_000_000, help="rows of the left side")
    command.add_argument("--right", type=int, default=5_000_000, help="rows of the right side")
    command.add_argument("--ways", default="evenkey,spark,cogroup", help=f"of {', '.join(JOINS)}")
    command.set_defaults(run=joins)
    given = parser.parse_args()
    if given.command == "joins" and not {*given.ways.split(",")} <= {*JOINS}:
        parser.error(f"--ways: there are {', '.join(JOINS)}")
    return given


def main() -> None:
    given = parsed()
    # So that the process of a way ends with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    given.directory = given.directory.absolute()
    given.directory.mkdir(parents=True, exist_ok=True)
    unprinted = ("run", "json", "directory")
    options = {name: each for name, each in vars(given).items() if name not in unprinted}
    outcome = {**options, "commit": commit(), **given.run(given)}
    if given.json:
        sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
    else:
        show(outcome)


if __name__ == "__main__":
    main()
