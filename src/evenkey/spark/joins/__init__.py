"""A shuffle join by Spark's own operators that stays balanced when there are hot keys."""

from evenkey.spark.joins.skewed_join import join

__all__ = ["join"]
