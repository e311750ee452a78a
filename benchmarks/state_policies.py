"""Policies that move keyed state, on streams that drift and burst: figures of the documentation.

Ten workers, 160 partitions, 24 epochs of 200,000 messages of 1 ms each, 200,000 possible keys with
states of 1,000 bytes. A worker reads 50 MB of states per second, and 10 ms more per partition. A
restart stops the stream for 30 s.

    python -m benchmarks.state_policies              # one JSON object, in seconds
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from evenkey.core.streams import generated
from evenkey.simulation import MoveCosts, simulate_policies

if TYPE_CHECKING:
    from evenkey.simulation import PolicyReport

WORKERS, EPOCHS, MESSAGES = 10, 24, 200_000
EQUAL, UNEQUAL = "1:1:1:1:1:1:1:1:1:1", "1:1:1:1:1:1:1:1:0.5:0.5"
POLICIES = ("hash", "restart", "mean", "mean(threshold=0.1,min_improvement=0)", "moves")
STREAMS = {
    "drift": ("drift(z=1.0,keys=200000,every=1200000)", EQUAL),
    "drift of a key above the mean": ("drift(z=1.2,keys=200000,every=1200000)", EQUAL),
    "drift in each epoch": ("drift(z=1.0,keys=200000,every=200000)", EQUAL),
    "bursts of 4 epochs": ("bursts(z=0.8,keys=200000,every=1200000,burst=800000,percent=8)", EQUAL),
    "bursts of 1 epoch": ("bursts(z=0.8,keys=200000,every=600000,burst=200000,percent=8)", EQUAL),
    "two slow workers": ("zipf(z=0.8,keys=200000)", UNEQUAL),
}


def figures(report: PolicyReport) -> dict[str, float]:
    """Return the figures of the table."""
    found = report.to_json()
    return {
        "median": found["epoch_max_over_limit"]["p50"],
        "worst": found["epoch_max_over_limit"]["max"],
        "moved_percent": 100 * found["moved_states"] / found["states"],
        "read_mb": found["read_bytes"] / 1e6,
        "pauses": found["pauses"],
        "moves_seconds": found["moves_ms"] / 1000,
        "makespan_seconds": found["makespan_ms"] / 1000,
    }


def main() -> None:
    runs: list[dict[str, Any]] = []
    for name, (stream, capacities) in STREAMS.items():
        reports = simulate_policies(
            generated(stream, messages=EPOCHS * MESSAGES),
            POLICIES,
            workers=WORKERS,
            epoch_messages=MESSAGES,
            capacities=capacities,
            costs=MoveCosts(key_bytes=1000),
        )
        runs += [
            {"run": f"{policy}, {name}", **figures(report)}
            for policy, report in zip(POLICIES, reports, strict=True)
        ]
    sys.stdout.write(json.dumps({"runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
