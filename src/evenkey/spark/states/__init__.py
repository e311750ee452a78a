"""Keyed state of streams that moves between workers: `stateful`."""

from __future__ import annotations

from evenkey.spark.states.keyed_state import stateful

__all__ = ["stateful"]
