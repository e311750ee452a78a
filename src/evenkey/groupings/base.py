"""What every grouping is: frozen parameters that make routers."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from evenkey.errors import ConfigurationError
from evenkey.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

__all__ = ["Grouping", "Router", "Snapshot"]

Snapshot: TypeAlias = "dict[str, NDArray[Any]]"


@dataclasses.dataclass(frozen=True)
class Grouping(ABC):
    """A stream partitioning scheme: a name and its parameters.

    A grouping is a value: frozen, comparable, cheap to pickle. What it remembers while it
    routes lives in the `Router` that `router` makes, one for each source.
    """

    name: ClassVar[str]
    uses_times: ClassVar[bool] = False
    """Whether decisions depend on the messages' times (warm-up, promotions)."""
    learns: ClassVar[bool] = False
    """Whether routers learn something, such as hot keys, that outlives an epoch."""

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
        if workers < 1:
            message = f"workers = {workers}: there must be at least 1 worker"
            raise ConfigurationError(message)
        if source < 0:
            message = f"source = {source}: sources are counted from 0"
            raise ConfigurationError(message)
        return self._router(workers, source)

    @abstractmethod
    def _router(self, workers: int, source: int) -> Router: ...

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge what the routers of one epoch learned into what the next ones start from.

        Parameters
        ----------
        memories
            `Router.memory` of each source of the epoch, in order of source.

        Returns
        -------
        Snapshot
            For `Router.remember`; empty for a grouping that does not learn.
        """
        del memories
        return {}

    def __str__(self) -> str:
        """Spell the grouping with the parameters that differ from their defaults."""
        changed = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }
        return spell(self.name, changed)


class Router(ABC):
    """Routes the messages of one source, and remembers what it needs to for that.

    Parameters
    ----------
    workers
        How many workers there are.
    source
        Index of the source.
    """

    local_fields: ClassVar[tuple[str, ...]] = ()
    """Entries of `snapshot` that are this source's own, such as its local loads."""
    needs_times: ClassVar[bool] = False
    """Whether `route` cannot do without times."""

    def __init__(self, workers: int, source: int) -> None:
        self.workers = workers
        self.source = source

    def route(
        self, keys: NDArray[np.uint64], times: NDArray[np.float64] | None = None
    ) -> NDArray[np.int32]:
        """Choose a worker for each message of a batch.

        Cutting a batch in two never changes the result, and the input is left as it is.

        Parameters
        ----------
        keys
            uint64[n], hashes of the keys.
        times
            float64[n], seconds, non-decreasing. Groupings that do not use times take None.

        Returns
        -------
        int32[n]
            Workers, 0 to `workers` - 1.

        Raises
        ------
        ConfigurationError
            The arrays do not fit each other, or times are missing where they are needed.
        """
        keys = np.ascontiguousarray(keys, dtype=np.uint64)
        times = self._checked_times(keys, times)
        workers = np.empty(len(keys), dtype=np.int32)
        if len(keys):
            self._route(keys, times, workers)
        return workers

    def _checked_times(
        self, keys: NDArray[np.uint64], times: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        if times is None:
            if self.needs_times:
                message = f"{type(self).__name__} decides by time: pass times, in seconds"
                raise ConfigurationError(message)
            return np.empty(0)
        if len(times) != len(keys):
            message = f"{len(keys)} keys but {len(times)} times: give one time a key"
            raise ConfigurationError(message)
        return np.ascontiguousarray(times, dtype=np.float64)

    @abstractmethod
    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        workers: NDArray[np.int32],
    ) -> None:
        """Write the worker of each message into `workers`; there is at least one message."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Copy everything the router remembers, as arrays."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Take over what `snapshot` gave, or its entries named in `local_fields` alone."""

    def memory(self) -> Snapshot:
        """What this router learned that outlives the epoch; empty if nothing."""
        return {}

    def remember(self, memory: Snapshot) -> None:
        """Start from what earlier epochs learned, as `Grouping.merge_memories` gives it."""
        del memory

    def clone(self) -> Self:
        """Make an independent router in the same state."""
        return copy.deepcopy(self)


class LocalLoadRouter(Router):
    """A router that estimates the load of each worker by what it sent there itself.

    Local load estimation (PKG paper, section 3.2): the load of worker w as source s sees it
    is the number of messages that s sent to w.
    """

    local_fields: ClassVar[tuple[str, ...]] = ("sent",)

    def __init__(self, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self.sent = np.zeros(workers, dtype=np.int64)

    def snapshot(self) -> Snapshot:
        return {"sent": self.sent.copy()}

    def restore(self, snapshot: Snapshot) -> None:
        sent = snapshot["sent"]
        if sent.shape != (self.workers,):
            message = (
                f"a snapshot of {len(sent)} workers cannot be restored into a router of "
                f"{self.workers}: use the worker count that it was taken with"
            )
            raise ConfigurationError(message)
        self.sent = sent.astype(np.int64)
