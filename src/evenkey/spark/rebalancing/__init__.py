"""Move the state of a stream to a new plan, also for another number of workers."""

from evenkey.spark.rebalancing.moving import rebalance

__all__ = ["rebalance"]
