"""Balance and speed of `evenkey run` over a stream whose hot keys change without warning.

All hot keys of `drift` are replaced every `--every` messages, in the middle of epochs and
at their start. Each grouping counts the same messages on Spark, each of which costs its worker
`--cost-ms` of sleep; the counts are checked against those of the stream. Printed are max over mean
of every epoch, DistCost over its lower bound, and throughput beside that of `sg`. The throughput
includes the time to count the keys of an epoch before routing it.

    python benchmarks/drift_on_spark.py                    # about six minutes
    python benchmarks/drift_on_spark.py --groupings "sg;planned(planning=previous)" --json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from evenkey import PipelineConfig, run
from evenkey.core.streams import generated

if TYPE_CHECKING:
    from evenkey.pipeline.aggregate import RunReport

GROUPINGS = "sg;planned;planned(planning=previous)"


def measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run all groupings, one after the other."""
    name = f"drift(z=1.2,keys=10000,every={options.every})"
    stream = generated(name, messages=options.messages)
    ids = stream.batch(0, options.messages).ids
    truth = Counter(stream.texts(ids).to_pylist())
    results: list[dict[str, Any]] = []
    for grouping in options.groupings.split(";"):
        report = run(
            PipelineConfig(
                dataset=name,
                messages=options.messages,
                epochs=options.epochs,
                grouping=grouping,
                workers=options.workers,
                sources=options.sources,
                cost_ms=options.cost_ms,
            )
        )
        found: Counter[str] = Counter()
        for row in [] if report.table is None else report.table.to_pylist():
            found[row["key"]] += row["count"]
        results.append({"grouping": grouping, "exact": found == truth, **figures(report)})
        first = results[0]["throughput"]
        results[-1]["over_first"] = results[-1]["throughput"] / first
    return results


def figures(report: RunReport) -> dict[str, Any]:
    """Return the figures of a run that are compared."""
    return {
        "throughput": report.pace.messages_per_second,
        "makespan_ms": report.timing.makespan_ms,
        "dist_cost": report.metrics.dist_cost,
        "max_over_mean": [epoch.max_over_mean for epoch in report.epochs],
        "over_least": [epoch.dist_cost / epoch.dist_cost_lower_bound for epoch in report.epochs],
    }


def print_table(results: list[dict[str, Any]]) -> None:
    """Print the figures as Markdown."""
    table = Table(box=MARKDOWN)
    for heading in ("grouping", "messages/s", "over the first", "max/mean", "DistCost", "exact"):
        table.add_column(heading)
    for each in results:
        table.add_row(
            each["grouping"],
            f"{each['throughput']:,.0f}",
            f"{each['over_first']:.3f}",
            " ".join(f"{value:.3f}" for value in each["max_over_mean"]),
            " ".join(f"{value:.3f}" for value in each["over_least"]),
            "yes" if each["exact"] else "NO",
        )
    Console(width=160).print(table)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groupings", default=GROUPINGS, help="separated by semicolons")
    parser.add_argument("--messages", type=int, default=800_000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--every", type=int, default=300_000)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--sources", type=int, default=5)
    parser.add_argument("--cost-ms", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = measured(options)
    if options.json:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
    else:
        print_table(results)


if __name__ == "__main__":
    main()
