"""Exporters: the observer's metrics to InfluxDB, Prometheus, Kafka and Parquet files.

Each has a bounded queue and a thread of its own, so that a slow or dead one never slows or
stops the stream; what it could not take is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.exporters.base import Ending, Exporter, ExportSummary, Unreachable
from evenkey.exporters.exports import Exports, check_address
from evenkey.exporters.history import RUN_FILE, History
from evenkey.exporters.outlet import Outlet
from evenkey.exporters.record import EpochRecord, HotKey, RunInfo
from evenkey.exporters.served_hosts import ServedHosts

if TYPE_CHECKING:
    from evenkey.exporters.secrets import secret as secret

__all__ = [
    "RUN_FILE",
    "Ending",
    "EpochRecord",
    "ExportSummary",
    "Exporter",
    "Exports",
    "History",
    "HotKey",
    "Outlet",
    "RunInfo",
    "ServedHosts",
    "Unreachable",
    "check_address",
]

__getattr__ = late(
    __name__,
    {
        "secret": "evenkey.exporters.secrets",
    },
)
