"""Peers: our reading of what others do for micro-batches, to compare with."""

from __future__ import annotations

from evenkey.papers.peers.kip import IsolatingGrouping
from evenkey.papers.peers.prompt import PromptGrouping

__all__ = ["IsolatingGrouping", "PromptGrouping"]
