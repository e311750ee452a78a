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

    A grouping is an immutable value, which can be compared and is cheap to pickle. It has no state.
    Each source routes with its own `Router`, which the method `router` makes.

    Examples
    --------
    >>> from evenkey.groupings import PartialKeyGrouping
    >>> grouping = PartialKeyGrouping(choices=3)
    >>> str(grouping), grouping == PartialKeyGrouping(choices=3)
    ('pkg(choices=3)', True)

    A simulator or a Spark operator makes the routers, merges what they learn in an epoch, and
    passes the result to the routers of the next epoch. A router that follows a plan must get the
    plan before it routes.

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
    """Whether routing depends on the times of messages, as in ``dkg`` (warm-up, promotions)."""
    learns: ClassVar[bool] = False
    """Whether routers learn something, such as hot keys, that the next epoch starts from."""
    remembers_every_key: ClassVar[bool] = False
    """Whether routers keep an entry for every key, so that their memory grows without bound."""
    plans_epochs: ClassVar[bool] = False
    """Whether all routers start each epoch from the same plan, which is made from earlier
    epochs."""
    given_frequencies: ClassVar[bool] = False
    """Whether routers need a plan made from key frequencies (see `plan`) before they route."""
    native: ClassVar[Literal["hash", "row number"] | None] = None
    """Set if the worker of a message depends only on the hash of its key, or only on its row
    number: Spark's own expressions can then route. None: only a `Router` can route."""
    compiled: ClassVar[bool] = False
    """Whether routers call kernels: functions that numba compiles, which is in the extra
    ``evenkey[kernels]``. Plans are made without numba."""
    peer: ClassVar[bool] = False
    """Whether the grouping is another team's method, implemented only for comparison. evenkey never
    recommends such a grouping."""

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
        """Make a router that does not have to learn anything for later epochs.

        If it starts from the same memory as a router that `router` makes, it chooses the same
        workers.

        Parameters
        ----------
        workers
            How many workers there are, at least 1.
        source
            Index of the source, at least 0.
        """
        return self.router(workers, source)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64], workers: int) -> Snapshot:
        """Make the plan that must be passed to `Router.remember` of every router before it routes.

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
            The grouping does not use key frequencies (see `given_frequencies`), or an argument is
            invalid.
        """
        del keys, counts, workers
        message = f"{self.name}: it does not use key frequencies; route without a plan"
        raise ConfigurationError(message)

    def replan(
        self,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        workers: int,
        memory: Snapshot,
    ) -> Snapshot:
        """Make a plan as `plan` does, but with few changes from the previous plan.

        Parameters
        ----------
        keys
            uint64[k], hashes of distinct keys.
        counts
            float64[k], number of messages of each key, at least 0; only their proportions matter.
        workers
            How many workers there are, at least 1.
        memory
            Memory of the routers in the previous epoch; empty: there was none.
        """
        del memory
        return self.plan(keys, counts, workers)

    @property
    def counts_ahead(self) -> bool:
        """Whether the messages of every epoch must be counted before they are routed."""
        return False

    @property
    def most_workers_of_a_key(self) -> int | None:
        """Maximum number of workers that one key can be on in the whole stream; None: no limit."""
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
        """Merge the memories of an epoch's routers into the memory that the next epoch starts from.

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
        """Return the grouping as text, such as ``pkg(choices=3)``; default values are left out."""
        return spell_changed(self)


class Router(ABC):
    """Chooses the worker of each message of one source, and keeps the state needed for this.

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

    A clone of a router, or a router restored in another process, continues like the original.

    >>> again = ShuffleGrouping().router(workers=3)
    >>> again.restore(router.snapshot())
    >>> after = np.array([5, 6], np.uint64)
    >>> again.route(after).tolist() == router.clone().route(after).tolist()
    True

    The memory of a router is the part of its state that the next epoch starts from. Shuffle
    grouping learns nothing and has no clock, so its memory is empty and its time is 0.

    >>> router.remember({})
    >>> router.memory(), router.now
    ({}, 0.0)
    """

    local_fields: ClassVar[tuple[str, ...]] = ()
    """Names of entries of `snapshot` that apply to one source only, such as local loads."""
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

        The result does not depend on how messages are divided into batches. The input is not
        modified. A message of weight w goes to one worker, like any other message. If the grouping
        estimates loads or key frequencies, the message adds w to them.

        Parameters
        ----------
        keys
            uint64[n], hashes of the keys.
        times
            float64[n], time of each message in seconds. Times must not decrease, except that they
            may go back by an hour or more if the clock of the stream was wrong. None: the grouping
            does not use times.
        weights
            int64[n], weight of each message, at least 1. A weight above 2**32 counts as 2**32.
            None: each message has weight 1.

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
            message = f"weight {weights.min()}: the weight of a message must be at least 1"
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

        `times` and `weights` are empty if `route` got None. If `weights` is empty, each weight is
        1.
        """

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return a copy of the router's whole state, as arrays."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state from a `snapshot`, or from only its entries named in `local_fields`."""

    @property
    def now(self) -> float:
        """Time of the router's clock, in seconds; 0 if the router has no clock."""
        return 0.0

    def memory(self) -> Snapshot:
        """Return what this router has learned for later epochs; empty if it has learned nothing."""
        return {}

    def remember(self, memory: Snapshot) -> None:
        """Start from the memory of earlier epochs (`Grouping.merge_memories`) or from a plan."""
        del memory

    def clone(self) -> Self:
        """Make an independent router in the same state."""
        return copy.deepcopy(self)


class LocalLoadRouter(Router):
    """A router that estimates the load of each worker from the messages sent by this router.

    This is local load estimation (PKG paper, section 3.2). For source s, the load of worker w is
    the sum of the weights of the messages that s has sent to w.
    """

    local_fields: ClassVar[tuple[str, ...]] = ("sent",)

    def __init__(self, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self.sent = np.zeros(workers, dtype=np.int64)

    def snapshot(self) -> Snapshot:
        """Return a copy of the whole state."""
        return {"sent": self.sent.copy()}

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state from a snapshot."""
        sent = snapshot["sent"]
        if sent.shape != (self.workers,):
            message = (
                f"a snapshot of {len(sent)} workers cannot be restored into a router of "
                f"{self.workers}: use the worker count that it was taken with"
            )
            raise ConfigurationError(message)
        self.sent = sent.astype(np.int64)


def _as_input(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """Return the values as a contiguous, read-only array, which kernels take as input.

    Numba compiles a kernel once per type of its input, and a read-only array is another type than a
    writable array. Arrow's arrays are always read-only. So all inputs are made read-only, and each
    kernel is compiled only once.
    """
    array = np.ascontiguousarray(values, dtype=dtype).view()
    array.flags.writeable = False
    return array
