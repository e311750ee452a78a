"""`groupBy` with the methods and results of Spark's own groupBy; keys are placed by their load."""

from __future__ import annotations

from evenkey.spark.groups.fitting import fit
from evenkey.spark.groups.group_by import Grouped, groupBy

__all__ = ["Grouped", "fit", "groupBy"]
