"""The results of a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import epoch_figures, known, messages_per_second

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.core.metrics import EpochMetrics, RunMetrics


@dataclass(frozen=True)
class Agreement:
    """How many routing decisions agree with those of global load estimation (PKG paper, Q2).

    Parameters
    ----------
    messages
        Number of messages, m, which is also the number of decisions.
    agreeing
        Number of messages that global estimation sends to the same worker, a.
    """

    messages: int
    agreeing: int

    @property
    def jaccard(self) -> float:
        """Jaccard overlap of the two sets of decisions (message, worker): ``a / (2 m - a)``.

        Each set has m members, and a members are in both sets. The overlap is the size of the
        intersection divided by the size of the union. It is 1 if there are no messages.
        """
        union = 2 * self.messages - self.agreeing
        return self.agreeing / union if union else 1.0

    @property
    def disagreement(self) -> float:
        """Share of messages that do not agree: ``1 - a / m`` (Figure 6 of the PKG paper, in %)."""
        return 1 - self.agreeing / self.messages if self.messages else 0.0


@dataclass(frozen=True)
class SimulationReport:
    """The figures of a simulation; `to_json` returns them by the names of the command line.

    Parameters
    ----------
    setting
        What was simulated: option names of the command line, and their values.
    metrics
        How messages were spread over workers. Loads are in messages, or in weights if
        ``observe_by="weights"``.
    messages_held
        int64[W], number of messages of each worker, from which `to_json` computes the makespan.
    average_imbalance
        Mean of I(t) over every message t: the maximum load less the mean load after t.
    series
        I(t) over time. The columns are ``messages``, ``seconds``, ``imbalance`` and
        ``local_imbalance``.
    epochs
        Metrics of each epoch; empty without epochs.
    agreement
        Agreement with global estimation. None: the agreement was not requested.
    seconds
        Duration of the simulation: making or reading the stream, routing, and counting. Settings
        that were simulated in one pass all have the duration of the whole pass.
    routing_seconds
        Seconds spent in `Router.route`, without compilation.
    memory_bytes
        Size of all routers at the end, in bytes.
    rejected
        Number of lines or rows of the input that are not messages.

    Examples
    --------
    >>> from evenkey import generated, simulate
    >>> report = simulate(generated("zipf(z=1.2,keys=100)", messages=1000), "sg", workers=4)
    >>> report.loads.tolist(), report.metrics.max_over_mean
    ([250, 250, 250, 250], 1.0)

    >>> report.messages, report.keys, report.pairs  # keys, and (worker, key) pairs
    (1000, 91, 218)
    >>> report.to_json(cost_ms=2.0)["makespan_ms"]
    500.0
    """

    setting: dict[str, Any]
    metrics: RunMetrics
    messages_held: NDArray[np.int64]
    average_imbalance: float
    series: pa.Table
    epochs: tuple[EpochMetrics, ...]
    agreement: Agreement | None
    seconds: float
    routing_seconds: float
    memory_bytes: int
    rejected: int

    @property
    def messages(self) -> int:
        """Number of messages."""
        return self.metrics.messages

    @property
    def keys(self) -> int:
        """Number of distinct keys."""
        return self.metrics.keys

    @property
    def pairs(self) -> int:
        """Number of distinct (worker, key) pairs."""
        return self.metrics.pairs

    @property
    def loads(self) -> NDArray[np.int64]:
        """int64[W], load of each worker."""
        return np.array(self.metrics.loads, dtype=np.int64)

    def to_json(self, cost_ms: float = 1.0) -> dict[str, Any]:
        """Return the figures by the names that all commands use.

        Parameters
        ----------
        cost_ms
            Cost per message, in ms. The makespan is this cost times the number of messages of the
            worker with the most messages. The throughput is the number of messages divided by the
            makespan (decision 006), or None if the makespan is 0.

        Raises
        ------
        ConfigurationError
            The cost is negative or not finite.
        """
        if not (cost_ms >= 0 and math.isfinite(cost_ms)):
            message = f"cost_ms = {cost_ms:g}: must be at least 0 ms"
            raise ConfigurationError(message)
        makespan_ms = cost_ms * int(self.messages_held.max())
        figures = {
            **self.setting,
            **known(self.metrics),
            "loads": list(self.metrics.loads),
            "rejected": self.rejected,
            "messages_held": self.messages_held.tolist(),
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
        if not self.epochs:
            return figures
        return {**figures, "epochs": len(self.epochs), **epoch_figures(self.epochs)}
