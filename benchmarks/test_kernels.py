"""Speed of the groupings' kernels: one core, 10 million messages, 100,000 keys, 50 workers.

A round routes the whole stream by a fresh router in batches of 65,536, about what Spark hands
over. Neither compilation nor making the stream counts. The figure is that of the median round.
"""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.groupings import parse
from evenkey.streams import generated

MESSAGES, WORKERS, BATCH = 10_000_000, 50, 1 << 16
TARGETS = {
    "kg": 200,
    "pkg": 80,
    "dkg": 25,
    "dkg(variant=reference)": None,
    "sg": None,
}
"""Million messages a second."""


@pytest.fixture(scope="module", params=["1.4", "1.0"])
def stream(request):
    """Name, keys and times of a stream that spans 400 s."""
    name = f"zipf(z={request.param},keys=100000)"
    batches = list(generated(name, messages=MESSAGES).batches())
    keys = np.concatenate([batch.keys for batch in batches])
    times = np.concatenate([batch.times for batch in batches])
    return name, keys, times


def route(router, keys, times):
    for start in range(0, len(keys), BATCH):
        router.route(keys[start : start + BATCH], times[start : start + BATCH])


@pytest.mark.benchmark
@pytest.mark.parametrize("grouping", TARGETS)
def test_route(benchmark, report, stream, grouping):
    name, keys, times = stream

    def fresh():
        return (parse(grouping).router(WORKERS), keys, times), {}

    benchmark.pedantic(route, setup=fresh, rounds=5, warmup_rounds=1)
    speed = MESSAGES / benchmark.stats.stats.median / 1e6
    benchmark.extra_info["million_messages_per_second"] = speed
    target = TARGETS[grouping]
    report(f"{grouping}, {name}", f"{speed:.0f} M messages/s", f">= {target} M" if target else "")
