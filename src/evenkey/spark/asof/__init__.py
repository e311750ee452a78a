"""As-of joins: for each left row the nearest right row in time, with hot keys cut into pieces."""

from evenkey.spark.asof.nearest_rows import asof_join

__all__ = ["asof_join"]
