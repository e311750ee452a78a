"""Spark's window functions over keys with most of the rows, cut into pieces by their order."""

from evenkey.spark.windows.ordered_window import over

__all__ = ["over"]
