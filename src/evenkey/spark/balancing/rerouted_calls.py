"""The calls that a profile rerouted: what was predicted and what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.spark.balancing.outdated import late, outdated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.spark.balancing.expected_gain import ExpectedGain
    from evenkey.spark.balancing.planned_calls import PlannedCall
    from evenkey.spark.balancing.stage_tasks import StageTasks


@dataclass
class ReroutedCalls:
    """The calls of one operation.

    Parameters
    ----------
    name
        The operation, for people.
    planned, gain
        Plan and prediction of the newest call.
    slots
        Number of tasks that run at the same time.
    begin, end
        Time in which the stages of the calls were submitted, in seconds since 1970.
    count
        Number of calls.
    found
        Tasks of the newest stage; None: not measured.
    """

    name: str
    planned: PlannedCall
    gain: ExpectedGain
    slots: int
    begin: float
    end: float = float("inf")
    count: int = 1
    found: StageTasks | None = None

    @property
    def notice(self) -> str:
        """Why the profile is out of date for this operation; empty: it is not, or unknown."""
        if self.found is None or not self.found.rows.any():
            return ""
        reason = outdated(self.planned.rows, self.found.rows, self.slots)
        seconds = self.gain.seconds(float(self.found.rows.sum()))
        if not reason and seconds is not None:
            reason = late(seconds[1], self.found.seconds)
        return reason

    @property
    def line(self) -> str:
        """One line: the number of calls, what was predicted and measured, and the notice if any."""
        calls = "1 call" if self.count == 1 else f"{self.count:,} calls"
        line = f"{self.name}: {calls} rerouted, {', '.join(self._parts())}"
        notice = self.notice
        return f"{line}; the profile is out of date: {notice}" if notice else line

    def _parts(self) -> Iterator[str]:
        found = self.found
        seconds = None if found is None else self.gain.seconds(float(found.rows.sum()))
        if seconds is None:
            yield f"predicted {self.gain.factor:.1f}x faster"
        else:
            yield f"predicted {seconds[1]:,.1f} s in place of {seconds[0]:,.1f} s"
        yield "not measured" if found is None else f"measured {found.seconds:,.1f} s"
