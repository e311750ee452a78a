"""Exporters: send the observer's metrics to InfluxDB, Prometheus, Kafka and Parquet files.

Each exporter has a bounded queue and its own thread. So a slow or unreachable destination never
slows or stops the stream. Points that an exporter has to drop are counted.
"""

from __future__ import annotations

from evenkey.pipeline.exporters.all_exporters import ADDRESSES, Exports, check_address
from evenkey.pipeline.exporters.base import Ending, Exporter, ExportSummary, Unreachable
from evenkey.pipeline.exporters.epoch_record import EpochRecord, HotKey, RunInfo
from evenkey.pipeline.exporters.history import RUN_FILE, History, Parquet
from evenkey.pipeline.exporters.outlet import Outlet
from evenkey.pipeline.exporters.served_hosts import ServedHosts

__all__ = [
    "ADDRESSES",
    "RUN_FILE",
    "Ending",
    "EpochRecord",
    "ExportSummary",
    "Exporter",
    "Exports",
    "History",
    "HotKey",
    "Outlet",
    "Parquet",
    "RunInfo",
    "ServedHosts",
    "Unreachable",
    "check_address",
]
