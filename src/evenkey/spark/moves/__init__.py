"""State that moves to a new query: what `rebalance` wrote, and how the new query restores it."""

from __future__ import annotations

from evenkey.spark.moves.initial_rows import initial_rows
from evenkey.spark.moves.moved_state import MovedState
from evenkey.spark.moves.new_query import check_fits, ended, moved_to
from evenkey.spark.moves.restoring import Restoring

__all__ = ["MovedState", "Restoring", "check_fits", "ended", "initial_rows", "moved_to"]
