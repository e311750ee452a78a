"""Geospatial publish/subscribe pipelines: a stream of publications, joined with subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.papers.publish_subscribe.config import JoinConfig

if TYPE_CHECKING:
    from evenkey.papers.publish_subscribe.config import ModeName as ModeName
    from evenkey.papers.publish_subscribe.producing import produce_publications
    from evenkey.papers.publish_subscribe.report import JoinReport
    from evenkey.papers.publish_subscribe.runner import compare_joins, run_join

__all__ = ["JoinConfig", "JoinReport", "compare_joins", "produce_publications", "run_join"]

__getattr__ = lazy_names(__name__)
