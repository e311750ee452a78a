"""Geospatial publish/subscribe pipelines: a stream of publications, joined with subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.papers.publish_subscribe.config import MODES as MODES
from evenkey.papers.publish_subscribe.config import JoinConfig

if TYPE_CHECKING:
    from evenkey.papers.publish_subscribe.config import ModeName as ModeName
    from evenkey.papers.publish_subscribe.join_pipeline import compare_joins, run_join
    from evenkey.papers.publish_subscribe.publication_producer import produce_publications
    from evenkey.papers.publish_subscribe.report import JoinReport

__all__ = ["JoinConfig", "JoinReport", "compare_joins", "produce_publications", "run_join"]

__getattr__ = lazy_names(__name__)
