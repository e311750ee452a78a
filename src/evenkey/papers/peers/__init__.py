"""Peers: others' groupings for micro-batches, implemented from their papers for comparison."""

from __future__ import annotations

from evenkey.papers.peers.kip import IsolatingGrouping
from evenkey.papers.peers.prompt import PromptGrouping

__all__ = ["IsolatingGrouping", "PromptGrouping"]
