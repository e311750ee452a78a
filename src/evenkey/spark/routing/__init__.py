"""Choose a worker for each row, and move rows to their workers."""

from __future__ import annotations

from evenkey.spark.routing.add_worker import routed
from evenkey.spark.routing.route_cases import routes_natively
from evenkey.spark.routing.tasks import RoutingTask, routing_task

__all__ = [
    "RoutingTask",
    "routed",
    "routes_natively",
    "routing_task",
]
