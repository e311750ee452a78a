"""Peers: groupings of other authors for micro-batches, which we implemented from their papers.

They serve for comparison.
"""

from __future__ import annotations

from evenkey.papers.peers.kip import IsolatingGrouping
from evenkey.papers.peers.prompt import PromptGrouping

__all__ = ["IsolatingGrouping", "PromptGrouping"]
