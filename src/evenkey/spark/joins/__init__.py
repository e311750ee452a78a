"""A shuffle join that stays balanced with hot keys, by Spark's own operators."""

from evenkey.spark.joins.join import join, join_plan
from evenkey.spark.joins.plan import JoinPlan

__all__ = ["JoinPlan", "join", "join_plan"]
