"""The routers of all sources, for each kind of load estimation."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.simulation.estimation import Global, Probing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.groupings import Grouping, Snapshot
    from evenkey.simulation.estimation import Estimation

_WARM_UP_MESSAGES = 1000
_WARM_UP_SECONDS = 120.0


@dataclass(frozen=True)
class Messages:
    """Consecutive messages on their way to the workers.

    Parameters
    ----------
    keys
        uint64[n], hashes of keys.
    times
        float64[n], event time in seconds.
    weights
        int64[n], how much each message counts for routers. None: each message counts 1.
    sources
        int64[n], source of each message.
    observed
        int64[n], how much each message counts for metrics. None: each message counts 1.
    """

    keys: NDArray[np.uint64]
    times: NDArray[np.float64]
    weights: NDArray[np.int64] | None
    sources: NDArray[np.int64]
    observed: NDArray[np.int64] | None = None

    def __getitem__(self, part: slice | NDArray[np.int64]) -> Messages:
        """Return some of the messages."""
        weights = None if self.weights is None else self.weights[part]
        observed = None if self.observed is None else self.observed[part]
        return Messages(self.keys[part], self.times[part], weights, self.sources[part], observed)

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.keys)


class Sources:
    """All sources of a stream, each with its router; with global estimation, all share one router.

    Parameters
    ----------
    grouping
        Grouping by which the sources route.
    estimation
        How the sources estimate the loads of workers.
    workers, sources
        Number of workers, and of sources.

    Raises
    ------
    ConfigurationError
        `estimation` probes loads, and the grouping does not use loads.
    """

    def __init__(
        self, grouping: Grouping, estimation: Estimation, workers: int, sources: int
    ) -> None:
        self._grouping = grouping
        self._one_for_all = isinstance(estimation, Global)
        routers = 1 if self._one_for_all else sources
        self._routers = [grouping.router(workers, source) for source in range(routers)]
        self._sent = [0] * routers
        self._memory: Snapshot = {}
        self.seconds = 0.0
        """Seconds spent in `Router.route` so far."""
        if isinstance(estimation, Probing) and "sent" not in self._routers[0].local_fields:
            message = (
                f"estimation = {estimation}: {grouping} does not use loads, so there is nothing "
                "to probe; pass estimation='local'"
            )
            raise ConfigurationError(message)

    @property
    def estimates(self) -> NDArray[np.int64]:
        """The load of each worker as each router estimates it, int64[routers, W].

        The grouping must use loads.
        """
        return np.array([router.snapshot()["sent"] for router in self._routers])

    @property
    def memory_bytes(self) -> int:
        """Size of all routers in bytes: the size of their arrays, and of the rest when pickled."""
        arrays: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(self._routers, protocol=5, buffer_callback=arrays.append)
        return len(rest) + sum(array.raw().nbytes for array in arrays)

    def warm_up(self, messages: Messages) -> None:
        """Compile the kernels: route some messages with a clone of a router, which is discarded."""
        some = messages[:_WARM_UP_MESSAGES]
        # The times span minutes, so that code that runs only at intervals is compiled too.
        times = np.linspace(0.0, _WARM_UP_SECONDS, len(some))
        self._routers[0].clone().route(some.keys, times, some.weights)

    def remember(self, memory: Snapshot) -> None:
        """Pass to every router what earlier epochs learned; the routers continue from this."""
        for router in self._routers:
            router.remember(memory)
        if self._grouping.plans_epochs:
            self._memory = memory

    @property
    def count_first(self) -> bool:
        """Whether the next epoch must be counted before it is routed."""
        return self._grouping.counts_first(self._memory)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64]) -> None:
        """Make a plan from key frequencies (hashes and counts, each [k]) for all routers."""
        workers = self._routers[0].workers
        self.remember(self._grouping.replan(keys, counts, workers, self._memory))

    def end_epoch(self) -> None:
        """End an epoch; if the grouping plans epochs, all routers continue with one common plan."""
        if not self._grouping.plans_epochs:
            return
        memory = self._grouping.merge_memories([router.memory() for router in self._routers])
        self.remember(memory)

    def probe(self, loads: NDArray[np.int64]) -> None:
        """Divide the true loads of the workers, int64[W], among the routers as their local loads.

        A router gets the same share of every load as its messages have of all messages. The parts
        add up to the loads. If the load of a worker is D messages below the other loads, each
        router sees only a part of D. So all routers together send D more messages to the worker; if
        each router saw D, each would send D more.
        """
        # Divide by the messages that routers sent. Their loads are less exact, because each probe
        # rounds them again.
        sent = self._sent if any(self._sent) else [1] * len(self._sent)
        # Python's integers, because in long streams the products exceed 64 bits.
        ends = np.array([0, *accumulate(sent)], dtype=object)
        parts = np.diff(loads.astype(object) * ends[:, None] // ends[-1], axis=0)
        for router, part in zip(self._routers, parts, strict=True):
            state = router.snapshot()
            own = {name: state[name] for name in router.local_fields}
            router.restore({**own, "sent": part.astype(np.int64)})

    def route(self, messages: Messages) -> NDArray[np.int32]:
        """Choose a worker for each message, int32[n]."""
        if self._one_for_all or len(self._routers) == 1:
            return self._timed(0, messages)
        from evenkey.simulation import _kernels

        ends = np.empty(len(self._routers), dtype=np.int64)
        order = np.empty(len(messages), dtype=np.int64)
        _kernels.order_by_source(messages.sources, ends, order)
        workers = np.empty(len(messages), dtype=np.int32)
        for source, mine in enumerate(np.split(order, ends[:-1])):
            workers[mine] = self._timed(source, messages[mine])
        return workers

    def _timed(self, source: int, messages: Messages) -> NDArray[np.int32]:
        weights = messages.weights
        self._sent[source] += len(messages) if weights is None else int(weights.sum())
        start = time.perf_counter()
        workers = self._routers[source].route(messages.keys, messages.times, weights)
        self.seconds += time.perf_counter() - start
        return workers
