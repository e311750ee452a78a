"""Geospatial publish/subscribe pipelines: a stream of publications, joined with subscriptions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenkey.topology.joining.config import JoinConfig

if TYPE_CHECKING:
    from evenkey.topology.joining.producing import produce_publications
    from evenkey.topology.joining.report import JoinReport
    from evenkey.topology.joining.runner import compare_joins, run_join

__all__ = ["JoinConfig", "JoinReport", "compare_joins", "produce_publications", "run_join"]

_HOMES = {
    "JoinReport": "report",
    "compare_joins": "runner",
    "produce_publications": "producing",
    "run_join": "runner",
}


def __getattr__(name: str) -> Any:
    # Configurations are made and checked, and help is shown, without Spark.
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
