"""Generated streams that replace the papers' data sets, and the papers' figures of these sets."""

from __future__ import annotations

from evenkey.papers.data_sets.cashtags import Cashtags
from evenkey.papers.data_sets.graph import GraphLookAlike
from evenkey.papers.data_sets.lognormal import Lognormal
from evenkey.papers.data_sets.look_alike import LookAlike
from evenkey.papers.data_sets.record_look_alike import RecordLookAlike

__all__ = ["Cashtags", "GraphLookAlike", "Lognormal", "LookAlike", "RecordLookAlike"]
