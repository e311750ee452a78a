"""A shuffle join that stays balanced with hot keys, by Spark's own operators."""

from evenkey.spark.joins.skewed_join import join

__all__ = ["join"]
