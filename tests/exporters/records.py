"""Records that tests make up."""

from __future__ import annotations

from typing import Any

from evenkey.exporters import EpochRecord, HotKey, RunInfo

RUN = RunInfo("dkg-1", "country-skew-r80", "dkg(warm_up=5)", workers=2, sources=3)


def record(epoch: int = 0, **changes) -> EpochRecord:
    """An epoch of 100 messages on 2 workers."""
    fields: dict[str, Any] = {
        "epoch": epoch,
        "ended": 1_700_000_000.25 + epoch,
        "messages": 100,
        "total_count": 100 * (epoch + 1),
        "rejected": 3,
        "duration": 1.5 + epoch,
        "throughput": 66.5,
        "epoch_throughput": 100.0,
        "latency_ms": 1000.0,
        "latency_p50_ms": 900.0,
        "latency_p99_ms": 1100.0,
        "std_dev": 10.0,
        "epoch_std_dev": 11.0,
        "dist_cost": 1.25,
        "epoch_dist_cost": 1.5,
        "max_over_mean": 1.2,
        "epoch_max_over_mean": 1.4,
        "loads": (60 * (epoch + 1), 40 * (epoch + 1)),
        "epoch_loads": (60, 40),
        "hottest": (HotKey("Turkey", 80, (0, 1), (50, 30)), HotKey('a "b"', 2, (1,), (2,))),
    }
    return EpochRecord(**(fields | changes))
