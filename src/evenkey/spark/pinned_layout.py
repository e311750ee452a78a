"""Queries that keep the grouping and the workers that they began with, and the reason why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.errors import ConfigurationError
from evenkey.spark.routing_table import OtherLayoutError, RoutingTable

if TYPE_CHECKING:
    from evenkey.spark.routing_table import RoutingTables
    from evenkey.spark.task import TaskId

_PLACE = "layout"


@dataclass(frozen=True)
class PinnedLayout:
    """The layout that a query began with, which must be that of all its epochs.

    Parameters
    ----------
    tables
        Where it is written down, and what it must be.
    why
        Half a sentence.
    """

    tables: RoutingTables
    why: str

    def decide(self, task: TaskId) -> RoutingTable:
        """Give an empty table; in a query's first epoch the layout is written down.

        Raises
        ------
        ConfigurationError
            The query began with another one.
        RunError
            The state cannot be read or written.
        """
        try:
            return self.tables.under(task.query).under(_PLACE).pin(0, RoutingTable())
        except OtherLayoutError as other:
            raise may_not_change(self.tables, other, self.why) from other

    recall = decide


def may_not_change(tables: RoutingTables, other: OtherLayoutError, why: str) -> ConfigurationError:
    """Say in one line that a query must keep its layout, and why."""
    return ConfigurationError(
        f"grouping = {tables.grouping!r}, workers = {tables.workers}: {why}; this query began with "
        f"{other.grouping!r} and {other.workers}: pass these, or begin anew with another "
        "checkpoint and another state"
    )
