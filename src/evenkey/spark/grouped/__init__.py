"""groupBy with keys placed by their load: Spark's own methods and results."""

from __future__ import annotations

from evenkey.spark.grouped.grouped import Grouped, groupBy

__all__ = ["Grouped", "groupBy"]
