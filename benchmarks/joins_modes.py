"""Compare the wall time of join modes in pairs: LB with DB, STAL with STRL.

All modes run interleaved on the same publications, `--rounds` times, on a small local cluster (one
executor per core unless SPARK_MASTER says otherwise), so that slots keep their hosts. Figures are
medians of the rounds; the noise of a mode is its maximum over its minimum throughput.

    python benchmarks/joins_modes.py                            # about five minutes
    SPARK_MASTER='local-cluster[4,1,1024]' python benchmarks/joins_modes.py    # an executor a slot
    python benchmarks/joins_modes.py --pipelines spis --subscriptions 400000 --publications 1000 \
      --polygon-share 0 --epochs 10 --cache-mb 4096 \
      --modes static-strl,static-stal,dynamic-lb-strl,dynamic-lb-stal    # loading dominates
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from typing import Any

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from evenkey.papers.publish_subscribe import JoinConfig, run_join

PIPELINES = "sps,spis,rihps,risps"
MODES = "dynamic-db-strl,dynamic-db-stal,dynamic-lb-strl,dynamic-lb-stal"
PAIRS = (("lb", "db"), ("stal", "strl"))


def figures(config: JoinConfig, modes: list[str], rounds: int) -> list[dict[str, Any]]:
    """Run the modes interleaved, and return a row per mode."""
    run_join(config.with_options(mode=modes[0]))  # starts executors and Python workers
    results: dict[str, list[dict[str, Any]]] = {mode: [] for mode in modes}
    for _ in range(rounds):
        for mode in modes:
            results[mode].append(run_join(config.with_options(mode=mode), warm_up=True).to_json())
    digests = {run["pairs_digest"] for runs in results.values() for run in runs}
    if len(digests) > 1:
        message = f"{config.pipeline}: modes found different pairs: {digests}"
        raise AssertionError(message)
    rows = []
    for mode, runs in results.items():
        speeds = [run["messages_per_second"] for run in runs]
        rows.append(
            {
                "pipeline": config.pipeline,
                "mode": mode,
                "throughput": statistics.median(speeds),
                "noise": max(speeds) / min(speeds),
                "modelled_makespan_seconds": statistics.median(
                    run["modelled_makespan_seconds"] for run in runs
                ),
                "static_loads": runs[-1]["epoch_static_loads"],
                "redistributions": len(runs[-1]["redistributions"]),
            }
        )
    return rows


def ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each mode's throughput over its twin's, and if that is at least 1 within noise."""
    of_mode = {row["mode"]: row for row in rows}
    found = []
    for one, other in PAIRS:
        for mode, row in of_mode.items():
            twin = of_mode.get("-".join(other if part == one else part for part in mode.split("-")))
            if one in mode.split("-") and twin is not None:
                ratio = row["throughput"] / twin["throughput"]
                noise = max(row["noise"], twin["noise"])
                found.append(
                    {
                        "pipeline": row["pipeline"],
                        "pair": f"{mode} over {twin['mode']}",
                        "ratio": ratio,
                        "noise": noise,
                        "holds": ratio * noise >= 1,
                    }
                )
    return found


def show(outcome: dict[str, Any]) -> None:
    console = Console(width=120)
    table = Table(box=MARKDOWN)
    for heading in ("pipeline", "mode", "items/s", "noise", "modelled s", "moves", "static loads"):
        table.add_column(heading)
    for row in outcome["modes"]:
        table.add_row(
            row["pipeline"],
            row["mode"],
            f"{row['throughput']:,.0f}",
            f"{row['noise']:.2f}",
            f"{row['modelled_makespan_seconds']:.2f}",
            str(row["redistributions"]),
            " ".join(map(str, row["static_loads"])),
        )
    console.print(table)
    table = Table(box=MARKDOWN)
    for heading in ("pipeline", "pair", "throughput", "noise", "at least equal, within noise"):
        table.add_column(heading)
    for row in outcome["ratios"]:
        holds = "yes" if row["holds"] else "no"
        cells = (row["pipeline"], row["pair"], f"{row['ratio']:.2f}", f"{row['noise']:.2f}", holds)
        table.add_row(*cells)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pipelines", default=PIPELINES, help="separated by commas")
    parser.add_argument("--modes", default=MODES, help="separated by commas")
    parser.add_argument("--publications", type=int, default=4000)
    parser.add_argument("--subscriptions", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--skew", type=float, default=0.7)
    parser.add_argument("--polygon-share", type=float, default=0.3)
    parser.add_argument("--polygon-clustering", type=float, default=1.0)
    parser.add_argument("--cache-mb", type=int, default=1024, help="cache of each worker process")
    parser.add_argument("--rounds", type=int, default=3, help="how often each mode runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = vars(parser.parse_args())
    own = {name: given.pop(name) for name in ("pipelines", "modes", "rounds", "json")}
    rows: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    for pipeline in own["pipelines"].split(","):
        config = JoinConfig(pipeline=pipeline, **given)
        of_pipeline = figures(config, own["modes"].split(","), own["rounds"])
        rows += of_pipeline
        compared += ratios(of_pipeline)
    outcome = {**given, **own, "modes": rows, "ratios": compared}
    if own["json"]:
        sys.stdout.write(json.dumps(outcome, indent=2) + "\n")
    else:
        show(outcome)


if __name__ == "__main__":
    main()
