"""A shuffle join that stays balanced with hot keys, by Spark's own operators."""

from evenkey.spark.joins.dealt_and_copied import JoinPlan
from evenkey.spark.joins.skewed_join import join, join_plan

__all__ = ["JoinPlan", "join", "join_plan"]
