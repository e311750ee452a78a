"""Figures of the documentation that are simulated: they are the same on every machine.

Each group of figures belongs to one table or passage of a page. The pages show the other simulated
figures with their own `evenkey simulate` commands.

    python -m benchmarks.simulated_figures           # one JSON object, in about a minute
"""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING, Any

import evenkey.papers  # noqa: F401 - registers the names of its streams
from evenkey.core.streams import generated
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from evenkey.core.metrics import EpochMetrics
    from evenkey.simulation import SimulationReport

simulated = functools.partial(simulate, samples=1)


def worst_over_least(report: SimulationReport) -> float:
    """The largest DistCost of an epoch over its lower bound."""
    return max(epoch.dist_cost / epoch.dist_cost_lower_bound for epoch in report.epochs)


def worst_max_over_mean(report: SimulationReport) -> float:
    return max(epoch.max_over_mean for epoch in report.epochs)


def keys_above_mean_percent(epoch: EpochMetrics, workers: int) -> float:
    """How far the worker with most keys is above the mean number of keys, in percent."""
    return 100 * epoch.cardinality_imbalance / (epoch.pairs / workers)


def number_of_keys() -> list[dict[str, Any]]:
    """Keys of the worker with most keys, and max/mean, without and with ``even_keys``."""
    workers, each, epochs = 10, 200_000, 4
    streams = ("zipf(z=1.4,keys=100000)", "zipf(z=1.0,keys=100000)")
    rows = []
    for name in (*streams, "zipf(z=1.0,keys=1000000)", "wikipedia-like"):
        row: dict[str, Any] = {"stream": name}
        for way, grouping in (("without", "planned"), ("with", "planned(even_keys=true)")):
            report = simulated(
                generated(name, messages=each * epochs),
                grouping,
                workers=workers,
                epoch_messages=each,
            )
            above = [keys_above_mean_percent(epoch, workers) for epoch in report.epochs]
            row[f"{way}_percent"] = max(above)
            row[f"{way}_max_over_mean"] = worst_max_over_mean(report)
        rows.append(row)
    return rows


def agreement() -> list[dict[str, Any]]:
    """How often a source that knows its own load decides as one that knows the true loads."""
    stream = generated("wikipedia-like", messages=2_000_000)
    rows = []
    for estimation in ("global", "local", "probing(60)", "probing(1)"):
        report = simulated(stream, "pkg", workers=10, estimation=estimation, agreement=True)
        figures = report.to_json()
        imbalance = figures["average_imbalance_fraction"]
        rows.append({"estimation": estimation, "imbalance": imbalance, **figures["agreement"]})
    return rows


def few_keys() -> dict[str, float]:
    """DistCost of a plan of 204 keys on 100 workers, and the least."""
    report = simulated(generated("country-skew-r30", messages=2_000_000), "planned", workers=100)
    return {"dist_cost": report.metrics.dist_cost, "least": report.metrics.dist_cost_lower_bound}


def hottest_keys() -> list[dict[str, Any]]:
    """DistCost of D-Choices and W-Choices on a stream with very hot keys."""
    stream = generated("zipf(z=2.0,keys=100000)", messages=5_000_000)
    return [
        {"grouping": name, "dist_cost": simulated(stream, name, workers=100).metrics.dist_cost}
        for name in ("dchoices", "wchoices")
    ]


def changing_keys() -> list[dict[str, Any]]:
    """The worst epoch of each `planning`, over a stream whose hot keys change three times."""
    stream = generated("drift(z=1.2,keys=10000,every=5000000)", messages=16_000_000)
    options = ("current", "auto", "previous", "previous,surprise=none")
    rows = []
    for option in options:
        grouping = f"planned(planning={option})"
        report = simulated(stream, grouping, workers=50, epoch_messages=2_000_000)
        rows.append(
            {
                "grouping": grouping,
                "first": report.epochs[0].max_over_mean,
                "median": report.to_json()["epoch_max_over_mean"]["p50"],
                "worst": worst_max_over_mean(report),
                "over_least": worst_over_least(report),
            }
        )
    return rows


def keys_that_change_four_times_an_epoch() -> dict[str, float]:
    """The worst epoch of ``planning=previous`` on a stream whose hot keys change very often."""
    report = simulated(
        generated("drift(z=1.2,keys=10000,every=500000)", messages=16_000_000),
        "planned(planning=previous)",
        workers=100,
        sources=20,
        epoch_messages=2_000_000,
    )
    return {
        "max_over_mean": worst_max_over_mean(report),
        "over_least": worst_over_least(report),
    }


def cold_keys_of_equal_load() -> list[dict[str, Any]]:
    """The largest DistCost of an epoch over its lower bound, where whole keys leave gaps."""
    epochs, a_worker = 10, 20_000
    cells = (("country-skew-r10", 50), ("country-skew-r10", 100), ("country-skew-r20", 100))
    rows = []
    for name, workers in (*cells, ("country-half-skew-r80", 100)):
        each = a_worker * workers
        stream = generated(name, messages=each * epochs)
        report = simulated(stream, "planned", workers=workers, epoch_messages=each)
        rows.append({"cell": f"{name}, W = {workers}", "over_least": worst_over_least(report)})
    return rows


def main() -> None:
    groups = (
        number_of_keys,
        agreement,
        few_keys,
        hottest_keys,
        changing_keys,
        keys_that_change_four_times_an_epoch,
        cold_keys_of_equal_load,
    )
    sys.stdout.write(json.dumps({each.__name__: each() for each in groups}, indent=1) + "\n")


if __name__ == "__main__":
    main()
