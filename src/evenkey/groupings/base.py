"""Base classes: `Grouping`, the parameters of a scheme, and `Router`, which routes messages."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from evenkey.core.checking import check_fields, check_workers, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import spell_changed
from evenkey.groupings.message_weights import limited

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

Snapshot: TypeAlias = "dict[str, NDArray[Any]]"


@dataclasses.dataclass(frozen=True)
class Grouping(ABC):
    """A stream partitioning scheme: a name and its parameters.

    A grouping is a value: frozen, comparable, cheap to pickle. It has no state: each source routes
    with its own `Router`, which `router` makes.

    Examples
    --------
    >>> from evenkey.groupings import PartialKeyGrouping
    >>> grouping = PartialKeyGrouping(choices=3)
    >>> str(grouping), grouping == PartialKeyGrouping(choices=3)
    ('pkg(choices=3)', True)

    A simulator or an operator makes routers, and carries what they learn from epoch to epoch. A
    router that follows a plan gets it before it routes.

    >>> import numpy as np
    >>> from evenkey.groupings import PlannedGrouping
    >>> planned, keys = PlannedGrouping(planning="current"), np.array([7, 8, 9], np.uint64)
    >>> planned.counts_ahead, planned.counts_first({}), grouping.most_workers_of_a_key
    (True, True, 3)
    >>> plan = planned.plan(keys, np.array([6.0, 1.0, 1.0]), workers=2)
    >>> sources = [planned.router(2, source=0), planned.follower(2, source=1)]
    >>> for router in sources:
    ...     router.remember(plan)
    >>> [router.route(keys).tolist() for router in sources]
    [[1, 0, 0], [0, 0, 0]]
    >>> learned = planned.merge_memories([router.memory() for router in sources])
    >>> next_plan = planned.replan(keys, np.array([5.0, 2.0, 1.0]), workers=2, memory=learned)
    """

    name: ClassVar[str]
    uses_times: ClassVar[bool] = False
    """Whether decisions depend on the messages' times (warm-up, promotions)."""
    learns: ClassVar[bool] = False
    """Whether routers learn something, such as hot keys, that outlives an epoch."""
    remembers_every_key: ClassVar[bool] = False
    """Whether routers keep an entry for every key, so that memory is unbounded."""
    plans_epochs: ClassVar[bool] = False
    """Whether routers get, at the start of each epoch, a plan made from earlier ones."""
    given_frequencies: ClassVar[bool] = False
    """Whether routers need a `plan`, made from the keys' frequencies, before they route."""
    native: ClassVar[Literal["hash", "row number"] | None] = None
    """What alone determines the worker of a message, so that Spark's own expressions can route.
    None: only a `Router` can."""
    peer: ClassVar[bool] = False
    """Whether it is our implementation of others' work, for comparison only; never recommended."""

    def __post_init__(self) -> None:
        check_fields(self)

    def router(self, workers: int, source: int = 0) -> Router:
        """Make the router of one source.

        Parameters
        ----------
        workers
            How many workers there are, at least 1.
        source
            Index of the source, at least 0.

        Raises
        ------
        ConfigurationError
            `workers` or `source` is out of range.
        """
        check_workers(workers)
        whole_number("source", source, 0)
        return self._router(workers, source)

    @abstractmethod
    def _router(self, workers: int, source: int) -> Router: ...

    def follower(self, workers: int, source: int = 0) -> Router:
        """Make a router that does not have to learn for later epochs.

        With the same memory, it routes like a router that `router` makes.
        """
        return self.router(workers, source)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64], workers: int) -> Snapshot:
        """Make the plan that every router must get, through `Router.remember`, before it routes.

        Parameters
        ----------
        keys
            uint64[k], hashes of distinct keys.
        counts
            float64[k], number of messages of each key, at least 0; only their proportions matter.
        workers
            How many workers there are, at least 1.

        Raises
        ------
        ConfigurationError
            The grouping takes no frequencies (see `given_frequencies`), or an argument is
            invalid.
        """
        del keys, counts, workers
        message = f"{self.name}: it takes no frequencies of keys; route without a plan"
        raise ConfigurationError(message)

    def replan(
        self,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        workers: int,
        memory: Snapshot,
    ) -> Snapshot:
        """Make a plan, as `plan` does, with few changes from the previous plan.

        Parameters
        ----------
        keys, counts, workers
            As for `plan`.
        memory
            The previous memory of routers; empty if there is none.
        """
        del memory
        return self.plan(keys, counts, workers)

    @property
    def counts_ahead(self) -> bool:
        """Whether every epoch must be counted before it is routed."""
        return False

    @property
    def most_workers_of_a_key(self) -> int | None:
        """Most workers that one key can be on in the whole stream; None: no limit."""
        return None

    def counts_first(self, memory: Snapshot) -> bool:
        """Return whether the next epoch must be counted and planned before it is routed.

        Parameters
        ----------
        memory
            Memory of the routers in the previous epoch; empty if there was none.
        """
        del memory
        return False

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge the memories of one epoch's routers into the memory of the next epoch's.

        Parameters
        ----------
        memories
            `Router.memory` of each source of the epoch, in order of source.

        Returns
        -------
        Snapshot
            Memory to pass to `Router.remember`; empty for a grouping that does not learn.
        """
        del memories
        return {}

    def __str__(self) -> str:
        """Return the spelling, with only the parameters that differ from their defaults."""
        return spell_changed(self)


class Router(ABC):
    """Routes the messages of one source, and keeps the state for that.

    Parameters
    ----------
    workers
        How many workers there are.
    source
        Index of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from evenkey.groupings import ShuffleGrouping
    >>> router = ShuffleGrouping().router(workers=3)
    >>> router.route(np.array([7, 7, 7, 9], np.uint64), np.arange(4.0)).tolist()
    [0, 1, 2, 0]

    A cloned router, or one restored in another process, continues like the original.

    >>> again = ShuffleGrouping().router(workers=3)
    >>> again.restore(router.snapshot())
    >>> after = np.array([5, 6], np.uint64)
    >>> again.route(after).tolist() == router.clone().route(after).tolist()
    True

    The state that outlives an epoch is the router's memory. Shuffle grouping learns nothing and
    has no clock.

    >>> router.remember({})
    >>> router.memory(), router.now
    ({}, 0.0)
    """

    local_fields: ClassVar[tuple[str, ...]] = ()
    """Entries of `snapshot` that apply to this source only, such as its local loads."""
    needs_times: ClassVar[bool] = False
    """Whether `route` needs times."""

    def __init__(self, workers: int, source: int) -> None:
        self.workers = workers
        self.source = source

    def route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64] | None = None,
        weights: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int32]:
        """Choose a worker for each message of a batch.

        Cutting a batch in two never changes the result, and the input is not changed.
        A message of weight w is one message, and goes to one worker; it adds w to the loads
        and to the frequencies of keys, if the grouping estimates these.

        Parameters
        ----------
        keys
            uint64[n], hashes of the keys.
        times
            float64[n], time of each message in seconds, non-decreasing; they may go back by an
            hour or more if the clock of the stream was wrong. None: for groupings that do not use
            times.
        weights
            int64[n], how much each message counts for, at least 1; None: 1 each. A weight above
            `MOST_WEIGHT` counts for `MOST_WEIGHT`.

        Returns
        -------
        int32[n]
            Worker of each message, 0 to `workers` - 1.

        Raises
        ------
        ConfigurationError
            The lengths of the arrays differ, times are needed but missing, or a weight is
            below 1.
        """
        keys = _as_input(keys, np.uint64)
        times = self._checked_times(keys, times)
        weights = self._checked_weights(keys, weights)
        workers = np.empty(len(keys), dtype=np.int32)
        if len(keys):
            self._route(keys, times, weights, workers)
        return workers

    def _checked_times(
        self, keys: NDArray[np.uint64], times: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        if times is None:
            if self.needs_times:
                message = f"{type(self).__name__} decides by time: pass times, in seconds"
                raise ConfigurationError(message)
            return _as_input([], np.float64)
        if len(times) != len(keys):
            message = f"{len(keys)} keys but {len(times)} times: give one time per key"
            raise ConfigurationError(message)
        return _as_input(times, np.float64)

    @staticmethod
    def _checked_weights(
        keys: NDArray[np.uint64], weights: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        if weights is None:
            return _as_input([], np.int64)
        if len(weights) != len(keys):
            message = f"{len(keys)} keys but {len(weights)} weights: give one weight per key"
            raise ConfigurationError(message)
        weights = _as_input(weights, np.int64)
        if len(weights) and weights.min() < 1:
            message = f"weight {weights.min()}: a message counts for at least 1"
            raise ConfigurationError(message)
        return limited(weights)

    @abstractmethod
    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        """Write the worker of each message into `workers`; there is at least one message.

        `times` and `weights` are empty if none were given; each weight is then 1.
        """

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return a copy of the router's whole state, as arrays."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state from a `snapshot`, or from only its entries in `local_fields`."""

    @property
    def now(self) -> float:
        """Time of the router's clock, in seconds; 0 if it has none."""
        return 0.0

    def memory(self) -> Snapshot:
        """Return what this router learned for later epochs; empty if nothing."""
        return {}

    def remember(self, memory: Snapshot) -> None:
        """Start from what earlier epochs learned, as `Grouping.merge_memories` returns it."""
        del memory

    def clone(self) -> Self:
        """Make an independent router in the same state."""
        return copy.deepcopy(self)


class LocalLoadRouter(Router):
    """A router that estimates the load of each worker by the messages that it sent there.

    Local load estimation (PKG paper, section 3.2): the load of worker w as source s sees it
    is the number of messages that s sent to w, each counted by its weight.
    """

    local_fields: ClassVar[tuple[str, ...]] = ("sent",)

    def __init__(self, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self.sent = np.zeros(workers, dtype=np.int64)

    def snapshot(self) -> Snapshot:
        """Return a copy of the whole state."""
        return {"sent": self.sent.copy()}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        sent = snapshot["sent"]
        if sent.shape != (self.workers,):
            message = (
                f"a snapshot of {len(sent)} workers cannot be restored into a router of "
                f"{self.workers}: use the worker count that it was taken with"
            )
            raise ConfigurationError(message)
        self.sent = sent.astype(np.int64)


def _as_input(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """Return the values as a contiguous, read-only array, the input of kernels.

    Arrow's arrays are read-only too. If all inputs have the same type, each kernel is compiled
    only once.
    """
    array = np.ascontiguousarray(values, dtype=dtype).view()
    array.flags.writeable = False
    return array
