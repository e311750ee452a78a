"""Records for tests."""

from __future__ import annotations

from typing import Any

from evenkey.pipeline.exporters import EpochRecord, HotKey, RunInfo

RUN = RunInfo("dkg-1", "country-skew-r80", "dkg(warm_up=5)", workers=2, sources=3)
JOIN = RunInfo("sps-1", "publications", "sps dynamic-lb-stal", 2, 3, load_unit="microseconds")


def record(epoch: int = 0, **changes) -> EpochRecord:
    """Return the record of an epoch of 100 messages on 2 workers."""
    fields: dict[str, Any] = {
        "epoch": epoch,
        "ended": 1_700_000_000.25 + epoch,
        "hottest": (HotKey("Turkey", 80, (0, 1), (50, 30), 2), HotKey('a "b"', 2, (1,), (2,), 2)),
    }
    figures: dict[str, Any] = {
        **_common(epoch),
        "dist_cost": 1.25,
        "epoch_dist_cost": 1.5,
        "loads": (60 * (epoch + 1), 40 * (epoch + 1)),
        "epoch_loads": (60, 40),
        "late": 2 * epoch,
        "epoch_late": 2 if epoch else 0,
        "state_rows": 50,
        "state_bytes": 6_000,
    }
    own = {name: changes.pop(name) for name in fields.keys() & changes.keys()}
    return EpochRecord(**(fields | own), figures=figures | changes)


def join_record(epoch: int = 0, **changes) -> EpochRecord:
    """Return the record of a join's epoch: 100 publications, 2 workers, 3 moved partitions."""
    figures: dict[str, Any] = {
        **_common(epoch),
        "matches": 70 * (epoch + 1),
        "epoch_matches": 70,
        "mldc": 0.4,
        "mldc_items": 0.3,
        "mldc_seconds": 0.4,
        "mldc_threshold": 0.5,
        "moved_partitions": 3 * epoch,
        "epoch_moved_partitions": 3 if epoch else 0,
        "static_loads": 8 + 3 * epoch,
        "epoch_static_loads": 3 if epoch else 8,
        "redistribution_seconds": 0.5,
        "epoch_redistribution_seconds": 0.25,
        "loads": (70_000 * (epoch + 1), 30_000 * (epoch + 1)),
        "epoch_loads": (70_000, 30_000),
        "static_partitions": (4, 4) if epoch else (5, 3),
    }
    ended = changes.pop("ended", 1_700_000_000.25 + epoch)
    owners = (0, 1, 1, 1, 0, 0, 1, 0) if epoch else (0, 1, 0, 1, 0, 0, 1, 0)
    return EpochRecord(epoch, ended, figures | changes, owners=owners)


def closing_record(epoch: int) -> EpochRecord:
    """Return the record of an epoch that only closes windows, after epochs with `record`."""
    before = record(epoch - 1)
    figures = {n: v for n, v in before.figures.items() if not n.startswith("epoch_")}
    own = {"makespan_ms": before["makespan_ms"] + 5000.0, "lag": 0, "state_rows": 0}
    return EpochRecord(epoch, before.ended + 5, figures | own)


def _common(epoch: int) -> dict[str, Any]:
    return {
        "messages": 100 * (epoch + 1),
        "epoch_messages": 100,
        "epochs": epoch + 1,
        "rejected": 3,
        "epoch_rejected": 0 if epoch else 3,
        "lag": 100 * (9 - epoch),
        "makespan_ms": 1500.0 + 1000 * epoch,
        "messages_per_second": 66.5,
        "epoch_messages_per_second": 100.0,
        "epoch_duration_ms": 1000.0,
        "duration_p50_ms": 900.0,
        "duration_p99_ms": 1100.0,
        "stddev_percent": 10.0,
        "epoch_stddev_percent": 11.0,
        "max_over_mean": 1.2,
        "epoch_max_over_mean": 1.4,
    }
