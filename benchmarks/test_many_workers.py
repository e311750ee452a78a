"""The cost of routing a message with many workers, for every grouping.

One source routes a Zipf stream in batches of 65,536. The figure is the one that the simulator
reports: time inside `Router.route`, without compilation, the best of three runs.
"""

from __future__ import annotations

import pytest

from evenkey.core.streams import generated
from evenkey.groupings import available
from evenkey.simulation import simulate

MESSAGES = 2_000_000
STREAM = "zipf(z=1.4,keys=100000)"


@pytest.mark.benchmark
@pytest.mark.parametrize("workers", [1000, 10_000])
@pytest.mark.parametrize("grouping", sorted(available()))
def test_cost_of_a_message(report, grouping, workers):
    stream = generated(STREAM, messages=MESSAGES)
    runs = [simulate(stream, grouping, workers=workers, sources=1) for _ in range(3)]
    nanoseconds = 1e9 * min(run.routing_seconds for run in runs) / MESSAGES
    report(f"{grouping}, {workers} workers", f"{nanoseconds:.0f} ns a message", "")
