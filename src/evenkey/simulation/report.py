"""What a simulation found out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.errors import ConfigurationError
from evenkey.metrics import (
    epoch_figures,
    imbalance_fraction,
    max_over_mean,
    messages_per_second,
    stddev_percent,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.metrics import EpochMetrics

__all__ = ["Agreement", "SimulationReport"]


@dataclass(frozen=True)
class Agreement:
    """How far decisions agree with those under global load estimation (PKG paper, Q2).

    Parameters
    ----------
    messages
        How many decisions there were, m.
    agreeing
        Messages that global estimation sends to the same worker, a.
    """

    messages: int
    agreeing: int

    @property
    def jaccard(self) -> float:
        """Jaccard overlap of the two sets of decisions (message, worker): ``a / (2 m - a)``.

        Each set has m members and they share a, so this is the size of their intersection over
        that of their union; 1 where there are no messages.
        """
        union = 2 * self.messages - self.agreeing
        return self.agreeing / union if union else 1.0

    @property
    def disagreement(self) -> float:
        """The part of all messages that is sent elsewhere: ``1 - a / m`` (Figure 6, in percent)."""
        return 1 - self.agreeing / self.messages if self.messages else 0.0


@dataclass(frozen=True)
class SimulationReport:
    """The figures of a simulation; `to_json` has the names of the command line.

    Parameters
    ----------
    setting
        What was simulated, by the names of the command line.
    messages, keys, pairs
        Messages, distinct keys, distinct (worker, key) pairs.
    dist_cost_lower_bound
        As `evenkey.metrics.dist_cost_lower_bound` defines it.
    loads
        int64[W], load of each worker: its messages, or their weights where those are observed.
    messages_held
        int64[W], messages of each worker, by which a simulated cost is counted.
    average_imbalance
        Mean over every message t of I(t), the largest load less the mean load after it.
    series
        I(t) in the course of time; columns as the fields of `evenkey.simulation.Point`.
    epochs
        Each epoch's own metrics, where there were epochs.
    agreement
        With global estimation, where that was asked for.
    seconds
        What the simulation took: making or reading the stream, routing, keeping the books.
    routing_seconds
        The part of it inside `Router.route`, compilation left out.
    memory_bytes
        Size of all routers at the end.
    rejected
        Lines or rows of the input that are no message.
    """

    setting: dict[str, Any]
    messages: int
    keys: int
    pairs: int
    dist_cost_lower_bound: float
    loads: NDArray[np.int64]
    messages_held: NDArray[np.int64]
    average_imbalance: float
    series: pa.Table
    epochs: tuple[EpochMetrics, ...]
    agreement: Agreement | None
    seconds: float
    routing_seconds: float
    memory_bytes: int
    rejected: int

    def to_json(self, cost_ms: float = 1.0) -> dict[str, Any]:
        """Give the figures under the names that all commands share.

        Parameters
        ----------
        cost_ms
            What a message costs a worker, in ms. The makespan is the time that the worker with
            the most messages then takes, and the throughput messages over makespan (decision
            006), None where nothing takes time.

        Raises
        ------
        ConfigurationError
            The cost is negative.
        """
        if not (cost_ms >= 0 and math.isfinite(cost_ms)):
            message = f"cost_ms = {cost_ms:g}: must be at least 0 ms"
            raise ConfigurationError(message)
        makespan_ms = cost_ms * int(self.messages_held.max())
        total = int(self.loads.sum())
        figures = {
            **self.setting,
            "messages": self.messages,
            "keys": self.keys,
            "pairs": self.pairs,
            "rejected": self.rejected,
            "loads": self.loads.tolist(),
            "messages_held": self.messages_held.tolist(),
            "max_over_mean": max_over_mean(self.loads),
            "imbalance_fraction": imbalance_fraction(self.loads),
            "average_imbalance_fraction": self.average_imbalance / max(1, total),
            "stddev_percent": stddev_percent(self.loads),
            "dist_cost": self.pairs / self.keys if self.keys else 1.0,
            "dist_cost_lower_bound": self.dist_cost_lower_bound,
            "seconds": self.seconds,
            "makespan_ms": makespan_ms,
            "messages_per_second": 1000 * self.messages / makespan_ms if makespan_ms else None,
            "routing_messages_per_second": messages_per_second(self.messages, self.routing_seconds),
            "memory_bytes": self.memory_bytes,
        }
        if self.agreement is not None:
            figures["agreement"] = {
                "jaccard": self.agreement.jaccard,
                "disagreement": self.agreement.disagreement,
            }
        return {**figures, **epoch_figures(self.epochs)} if self.epochs else figures
