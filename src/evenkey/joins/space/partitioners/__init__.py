"""Partitioners: how the static side is divided, by space or by hash."""

from __future__ import annotations

from evenkey.joins.space.partitioners.kdb import kdb
from evenkey.joins.space.partitioners.leaves import PLANE, Leaves
from evenkey.joins.space.partitioners.quad_tree import quad_tree

__all__ = ["PLANE", "Leaves", "kdb", "quad_tree"]
