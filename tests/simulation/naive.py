"""An obvious version of the simulator: one message at a time, every sum computed again."""

from __future__ import annotations

from collections import Counter
from itertools import cycle

import numpy as np

from tests.groupings.naive import mix


def sources_of(messages, feed, sources, readers):
    """Return the source of each message; with ``shuffle``, each reader takes its turns itself."""
    if feed == "key":
        return [(mix(sender, 1 << 40) >> 32) * sources >> 32 for *_, sender, _ in messages]
    turns = [cycle([*range(r % sources, sources), *range(r % sources)]) for r in range(readers)]
    return [next(turns[i % readers]) for i in range(len(messages))]


def plan_of(messages, grouping, workers):
    """Return the plan of a grouping that needs the frequencies of keys; empty for others."""
    counts: Counter[int] = Counter()
    for key, _, weight, *_ in messages:
        counts[key] += weight
    keys, weights = np.array(list(counts), "u8"), np.array(list(counts.values()), "f8")
    counted = grouping.given_frequencies or grouping.counts_first({})
    return grouping.plan(keys, weights, workers) if counted else {}


def probe(routers, local):
    """Divide the true loads over the routers, in proportion to the messages of each."""
    sent, loads = [int(each.sum()) for each in local], local.sum(axis=0)
    for i, router in enumerate(routers):
        below, above = sum(sent[:i]), sum(sent[: i + 1])
        part = [load * above // sum(sent) - load * below // sum(sent) for load in loads.tolist()]
        router.restore({"sent": np.array(part)})


def simulate(messages, grouping, workers, sources, feed, *, readers=1, one=False, probing=None):
    """Return decisions, loads, and after each message the imbalance: global, and summed by source.

    A message is (key, time, weight, sender, weight for the metrics). `one` means global
    estimation; `probing` is the period of probing in seconds.
    """
    routers = [grouping.router(workers, source) for source in range(1 if one else sources)]
    plan = plan_of(messages, grouping, workers)
    for router in routers:
        router.remember(plan)
    local, sent = (np.zeros((sources, workers), dtype=np.int64) for _ in range(2))
    decisions, imbalances, own = [], [], []
    origins = sources_of(messages, feed, sources, readers)
    for i, (key, time, weight, _, observed) in enumerate(messages):
        if probing and i and time // probing > messages[i - 1][1] // probing:
            probe(routers, sent)
        source = origins[i]
        router = routers[source % len(routers)]
        (worker,) = router.route(np.array([key], "u8"), np.array([time]), np.array([weight]))
        sent[source, worker] += weight
        local[source, worker] += observed
        loads = local.sum(axis=0)
        decisions.append(int(worker))
        imbalances.append(loads.max() - loads.mean())
        own.append(sum(each.max() - each.mean() for each in local))
    return decisions, local.sum(axis=0), imbalances, own
