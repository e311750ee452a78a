"""Geospatial publish/subscribe pipelines: a stream of publications, joined with subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.pipelines.join.config import JoinConfig

if TYPE_CHECKING:
    from evenkey.pipelines.join.config import ModeName as ModeName
    from evenkey.pipelines.join.producing import produce_publications
    from evenkey.pipelines.join.report import JoinReport
    from evenkey.pipelines.join.runner import compare_joins, run_join

__all__ = ["JoinConfig", "JoinReport", "compare_joins", "produce_publications", "run_join"]

__getattr__ = late(
    __name__,
    {
        "ModeName": "evenkey.pipelines.join.config",
        "JoinReport": "evenkey.pipelines.join.report",
        "compare_joins": "evenkey.pipelines.join.runner",
        "produce_publications": "evenkey.pipelines.join.producing",
        "run_join": "evenkey.pipelines.join.runner",
    },
)
