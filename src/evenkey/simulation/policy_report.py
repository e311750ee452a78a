"""The results of a simulated policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_MS = 1000.0


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyEpoch:
    """An epoch of keyed state under a policy.

    Parameters
    ----------
    epoch
        Number of the epoch.
    loads
        int64[W], messages of each worker.
    work_ms
        float64[W], milliseconds that each worker works on its messages.
    read_ms
        float64[W], milliseconds in which each worker reads states before that.
    pause_ms
        Milliseconds for which the stream stands still before the epoch.
    max_over_fair
        The largest load of a worker over its fair load, the part of all messages that is
        proportional to its capacity. Without capacities this is ``max/mean``.
    max_over_limit
        The work of the worker with most work, over the limit: the least that it can be if no key is
        split. The limit is the work of each worker if all have the same, or the work on the hottest
        key by the worker with the largest capacity, whichever is larger.
    moved_states
        Number of states that changed their worker before the epoch.
    moved_messages
        Messages of the partitions that changed their worker, in the epoch.
    read_bytes
        Bytes of the states that workers read before the epoch.
    """

    epoch: int
    loads: NDArray[np.int64]
    work_ms: NDArray[np.float64]
    read_ms: NDArray[np.float64]
    pause_ms: float
    max_over_fair: float
    max_over_limit: float
    moved_states: int
    moved_messages: int
    read_bytes: float

    @property
    def ms(self) -> float:
        """Duration in milliseconds: the pause, then the slowest worker's reading and work."""
        return self.pause_ms + float((self.read_ms + self.work_ms).max())

    @property
    def moves_ms(self) -> float:
        """Milliseconds by which moves make the epoch longer."""
        return self.ms - float(self.work_ms.max())

    def to_json(self) -> dict[str, Any]:
        """Convert to values for JSON."""
        return {
            "epoch": self.epoch,
            "loads": self.loads.tolist(),
            "work_ms": self.work_ms.tolist(),
            "read_ms": self.read_ms.tolist(),
            "pause_ms": self.pause_ms,
            "ms": self.ms,
            "moves_ms": self.moves_ms,
            "max_over_fair": self.max_over_fair,
            "max_over_limit": self.max_over_limit,
            "moved_states": self.moved_states,
            "moved_messages": self.moved_messages,
            "read_bytes": self.read_bytes,
        }


@dataclass(frozen=True)
class PolicyReport:
    """The figures of a policy; `to_json` returns them by the names of the command line.

    Parameters
    ----------
    setting
        What was simulated: option names of the command line, and their values.
    epochs
        The epochs, at least one.
    states
        Number of states at the end.
    state_bytes
        Bytes of all states at the end.

    Examples
    --------
    >>> from evenkey.core.streams import generated
    >>> from evenkey.simulation import simulate_policies
    >>> stream = generated("country-skew-r80", messages=2000)
    >>> (report,) = simulate_policies(stream, ["hash"], workers=4, epoch_messages=1000)
    >>> report.epochs[0].loads.tolist()
    [833, 57, 61, 49]
    >>> report.makespan_ms  # 1 ms per message
    1659.0
    >>> [each.moved_states for each in report.epochs]
    [0, 0]
    """

    setting: dict[str, Any]
    epochs: tuple[PolicyEpoch, ...]
    states: int
    state_bytes: float

    @property
    def messages(self) -> int:
        """Number of messages."""
        return sum(int(each.loads.sum()) for each in self.epochs)

    @property
    def makespan_ms(self) -> float:
        """Milliseconds from the first epoch to the end of the last one."""
        return sum(each.ms for each in self.epochs)

    def to_json(self) -> dict[str, Any]:
        """Return the figures by the names that all commands use, with a list of all epochs."""
        makespan = self.makespan_ms
        moved = sum(each.moved_messages for each in self.epochs)
        return {
            **self.setting,
            "messages": self.messages,
            "states": self.states,
            "state_bytes": self.state_bytes,
            "epochs": len(self.epochs),
            "epoch_max_over_fair": self._spread(lambda each: each.max_over_fair),
            "epoch_max_over_limit": self._spread(lambda each: each.max_over_limit),
            "epoch_ms": self._spread(lambda each: each.ms),
            "pauses": sum(each.pause_ms > 0 for each in self.epochs),
            "moved_states": sum(each.moved_states for each in self.epochs),
            "moved_load": 100 * moved / self.messages,
            "read_bytes": sum(each.read_bytes for each in self.epochs),
            "moves_ms": sum(each.moves_ms for each in self.epochs),
            "makespan_ms": makespan,
            "messages_per_second": _MS * self.messages / makespan if makespan else None,
            "by_epoch": [each.to_json() for each in self.epochs],
        }

    def _spread(self, figure: Callable[[PolicyEpoch], float]) -> dict[str, float]:
        values = [figure(each) for each in self.epochs]
        return {"p50": float(np.median(values)), "max": max(values)}
