"""Peers: our reading of what others do for micro-batches, to compare with."""

from __future__ import annotations

from evenkey.groupings.peers.kip import IsolatingGrouping
from evenkey.groupings.peers.prompt import PromptGrouping

__all__ = ["IsolatingGrouping", "PromptGrouping"]
