"""Queries that keep the grouping and the workers that they began with, and the reason why."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.spark.plans.tables import OtherLayoutError, RoutingTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.task_id import TaskId

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
        with layout_kept(self.tables, self.why):
            return self.tables.under(task.query).under(_PLACE).pin(0, RoutingTable())

    recall = decide


@contextmanager
def layout_kept(tables: RoutingTables, why: str) -> Iterator[None]:
    """Say in one line that a query must keep its layout, and why, where a table is of another.

    Raises
    ------
    ConfigurationError
        The table that is read within belongs to another layout.
    """
    try:
        yield
    except OtherLayoutError as other:
        message = (
            f"grouping = {tables.grouping!r}, workers = {tables.workers}: {why}; this query began "
            f"with {other.grouping!r} and {other.workers}: pass these, or begin anew with another "
            "checkpoint and another state"
        )
        raise ConfigurationError(message) from other
