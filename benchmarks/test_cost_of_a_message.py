"""The PKG paper's figure 10 on Spark: how the cost per message affects ``kg``, ``pkg``, ``sg``.

The scenarios are those of ``evenkey experiment run pkg-figure-10-a pkg-figure-10-b`` at scale
quick. Messages arrive at 12,000 per second. A tenfold cost must lower the throughput of ``kg`` by
at least 55 %, and those of ``pkg`` and ``sg`` by less. At 0.4 ms per message and with an
aggregation period of a minute, ``pkg`` must be faster than ``kg``.
"""

from __future__ import annotations

import pytest

from evenkey.papers.experiments import QUICK
from evenkey.papers.experiments.pkg.figure_10_a import with_costs
from evenkey.papers.experiments.pkg.figure_10_b import saturated

LOWEST, HIGHEST, LOSS = 0.1, 1.0, 0.55


def throughput(scenario):
    return scenario.measure().figures["messages_per_second"]


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_a_tenfold_cost(report):
    wanted = [
        each
        for each in with_costs(QUICK)
        if each.cost_ms in {LOWEST, HIGHEST} and each.grouping in {"kg", "pkg", "sg"}
    ]
    speed = {(each.grouping, each.cost_ms): throughput(each) for each in wanted}
    lost = {name: 1 - speed[name, HIGHEST] / speed[name, LOWEST] for name in ("kg", "pkg", "sg")}
    for name, part in lost.items():
        target = f">= {LOSS:.0%}" if name == "kg" else f"< {lost['kg']:.0%}"
        report(f"throughput that {name} loses at ten times the cost", f"{part:.0%}", target)


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_a_minute_between_aggregations(report):
    speed: dict[str, list[float]] = {"kg": [], "pkg": []}
    for each in saturated(QUICK):
        if each.grouping == "kg" or (each.grouping == "pkg" and each.epochs == 1):
            speed[each.grouping].append(throughput(each))
    ratio = max(speed["pkg"]) / max(speed["kg"])
    report("throughput of pkg with T = 60 s over kg's best", f"{ratio:.2f}", "> 1")
