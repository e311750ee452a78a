"""The panels of Grafana's dashboards, and what each asks InfluxDB or Prometheus."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PANELS", "Panel"]


@dataclass(frozen=True)
class Panel:
    """A panel and its query in both languages.

    Parameters
    ----------
    title, description
        Shown above it.
    kind
        ``stat``, ``line``, ``bar`` or ``table``.
    unit
        As Grafana names it.
    influx
        What is selected, from which measurement, grouped by which tags besides the run.
    prometheus
        PromQL; ``{}`` stands for the choice of runs.
    """

    title: str
    description: str
    kind: str
    unit: str
    influx: tuple[str, str, str]
    prometheus: str


def _epoch(title: str, text: str, kind: str, unit: str, field: str, metric: str) -> Panel:
    """A panel of one figure of an epoch."""
    return Panel(title, text, kind, unit, (f'last("{field}")', "evenkey_epoch", ""), metric)


PANELS = [
    _epoch("Messages", "TOTAL_COUNT", "stat", "short", "total_count", "evenkey_messages_total{}"),
    _epoch("Duration", "DURATION", "stat", "s", "duration", "evenkey_duration_seconds{}"),
    _epoch(
        "Throughput",
        "THROUGHPUT: messages a second over the duration",
        "stat",
        "short",
        "throughput",
        "evenkey_throughput{}",
    ),
    _epoch(
        "StdDev",
        "STD_DEV: standard deviation of loads in % of messages, whole run",
        "stat",
        "percent",
        "std_dev",
        "evenkey_std_dev_percent{}",
    ),
    _epoch(
        "DistCost",
        "DIST_COST: mean number of workers a key lies on, whole run",
        "stat",
        "short",
        "dist_cost",
        "evenkey_dist_cost{}",
    ),
    _epoch(
        "Rejected", "Lines in dead letters", "stat", "short", "rejected", "evenkey_rejected_total{}"
    ),
    _epoch(
        "Balance",
        "Fullest worker over the mean, of each epoch",
        "line",
        "short",
        "epoch_max_over_mean",
        "evenkey_epoch_max_over_mean{}",
    ),
    _epoch(
        "Replication",
        "DistCost of each epoch",
        "line",
        "short",
        "epoch_dist_cost",
        "evenkey_epoch_dist_cost{}",
    ),
    _epoch(
        "Throughput of each epoch",
        "Messages a second",
        "line",
        "short",
        "epoch_throughput",
        "evenkey_epoch_throughput{}",
    ),
    _epoch(
        "StdDev of each epoch",
        "In % of the epoch's messages",
        "line",
        "percent",
        "epoch_std_dev",
        "evenkey_epoch_std_dev_percent{}",
    ),
    _epoch(
        "Latency p50",
        "Median duration of epochs up to here",
        "line",
        "s",
        "latency_p50_ms",
        'evenkey_latency_seconds{,quantile="0.5"}',
    ),
    _epoch(
        "Latency p99",
        "99th percentile of the duration of epochs up to here",
        "line",
        "s",
        "latency_p99_ms",
        'evenkey_latency_seconds{,quantile="0.99"}',
    ),
    Panel(
        "Load of each worker",
        "Messages, whole run",
        "bar",
        "short",
        ('last("load")', "evenkey_worker", "worker"),
        "evenkey_load{}",
    ),
    Panel(
        "Hottest keys",
        "Of the last epoch, and how many workers held them",
        "table",
        "short",
        (
            'last("messages") AS "messages", "key", "share_percent", "pool", "workers"',
            "evenkey_hot_key",
            "rank",
        ),
        "evenkey_hot_key_messages{}",
    ),
]
