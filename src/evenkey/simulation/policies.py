"""Policies: between two epochs, a policy may give state partitions new owners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import max_load_distance
from evenkey.core.planners import SLACK_OF_SECONDS, greedy, load_per_location, moved
from evenkey.core.spelling import classes_of, read, spell_changed
from evenkey.groupings import heaviest_first

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Observed(NamedTuple):
    """What a policy knows at the end of an epoch.

    Parameters
    ----------
    owners
        int32[P], worker of each state partition in the epoch.
    messages
        float64[P], messages of each partition in the epoch.
    seconds
        float64[P], seconds of work on these messages, by the worker that did it.
    sizes
        float64[P], bytes of the states of each partition.
    workers
        Number of workers, W.
    unchanged
        Number of epochs, this one included, since owners last changed or the stream began.
    """

    owners: NDArray[np.int32]
    messages: NDArray[np.float64]
    seconds: NDArray[np.float64]
    sizes: NDArray[np.float64]
    workers: int
    unchanged: int


@dataclass(frozen=True)
class Policy(ABC):
    """A rule by which the states of keys move between workers.

    A class of your own is a frozen dataclass with a `name` and the method `replan`.

    Examples
    --------
    >>> import numpy as np
    >>> from evenkey.core.streams import generated
    >>> from evenkey.simulation import Policy, simulate_policies
    >>> @dataclass(frozen=True)
    ... class Rotating(Policy):
    ...     name = "rotating"
    ...
    ...     def replan(self, observed):
    ...         return (observed.owners + 1) % observed.workers
    >>> stream = generated("uniform(keys=40)", messages=300)
    >>> (report,) = simulate_policies(stream, [Rotating()], workers=4, epoch_messages=100)
    >>> [epoch.moved_states for epoch in report.epochs]
    [0, 33, 40]
    """

    name: ClassVar[str]
    _least: ClassVar[dict[str, int]] = {}
    """The least value of each parameter that has one."""

    def __post_init__(self) -> None:
        check_fields(self)
        for field, least in self._least.items():
            value = getattr(self, field)
            if not value >= least:
                message = f"{self.name}: {field} = {value}: must be at least {least}"
                raise ConfigurationError(message)

    def __str__(self) -> str:
        """Return the spelling, without parameters that have their defaults."""
        return spell_changed(self)

    @property
    def pause(self) -> float | None:
        """Seconds for which new owners stop the stream; None: states move while it runs."""
        return None

    @abstractmethod
    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the owners of the partitions in the next epoch, int32[P]; None: they stay."""


@dataclass(frozen=True)
class ByHash(Policy):
    """Partition p is on worker ``p mod W`` permanently, as in Spark."""

    name: ClassVar[str] = "hash"

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return None."""
        del observed
        return None


@dataclass(frozen=True)
class ByRestart(Policy):
    """Restarts the stream with a new plan if the plan balances the last epoch much better.

    The plan places the partitions in descending order of messages, each on the worker with fewest
    messages. It does not know the previous owners. All states are read, as by
    `evenkey.spark.rebalance`.

    Parameters
    ----------
    gain
        The stream restarts if the maximum number of messages of a worker in the last epoch is more
        than this many times what it would have been by the new plan. At least 1.
    wait
        Least number of epochs between two restarts.
    seconds
        Seconds for which a restart stops the stream, in addition to the time that states take.
    """

    name: ClassVar[str] = "restart"
    _least: ClassVar[dict[str, int]] = {"gain": 1, "wait": 1, "seconds": 0}
    gain: float = 1.2
    wait: int = 3
    seconds: float = 30.0

    @property
    def pause(self) -> float:
        """Seconds for which a restart stops the stream."""
        return self.seconds

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the new plan if it is time for a restart, and the restart pays."""
        if observed.unchanged < self.wait:
            return None
        planned, held = heaviest_first(observed.messages, observed.workers)
        most = np.bincount(observed.owners, observed.messages).max()
        return planned if most > self.gain * held.max() else None


@dataclass(frozen=True)
class ByMean(Policy):
    """Moves partitions if the maximum load is far above the mean, and if this lowers it much.

    The rule and the planner are those of `evenkey.joins.DynamicDistributor` with ``copies=False``,
    which looks at the loads of the last epoch after each epoch. Loads are seconds of work. MLDC is
    the maximum load over the mean load, minus 1.

    Parameters
    ----------
    threshold
        Partitions move only if MLDC is above this number.
    min_improvement
        Partitions move only if this lowers MLDC by more than this number.

    Notes
    -----
    Marić et al., Dynamic Load Balancing in Stream Processing Pipelines Containing
    Stream-Static Joins (Electronics 2023), Algorithm 1, without waiting between moves.
    """

    name: ClassVar[str] = "mean"
    _least: ClassVar[dict[str, int]] = {"threshold": 0, "min_improvement": 0}
    threshold: float = 0.5
    min_improvement: float = 0.3

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the owners that the greedy planner chooses, if the conditions hold."""
        current = _distance(observed, observed.owners)
        if current <= self.threshold:
            return None
        planned = greedy(observed.owners, observed.seconds, observed.workers)
        enough = current - _distance(observed, planned) > self.min_improvement
        return planned if enough else None


def _distance(observed: Observed, owners: NDArray[np.int32]) -> float:
    return max_load_distance(load_per_location(owners, observed.seconds, observed.workers))


@dataclass(frozen=True)
class ByMoves(Policy):
    """Moves the partitions with most load for the size of their states, while a worker is too full.

    The planner is `evenkey.core.planners.moved`, and loads are seconds of work. A worker is too
    full if its load is more than ``1 + slack`` times the mean, or times the load of the most loaded
    partition if that is larger.

    Parameters
    ----------
    slack
        As for the planner.
    """

    name: ClassVar[str] = "moves"
    _least: ClassVar[dict[str, int]] = {"slack": 0}
    slack: float = SLACK_OF_SECONDS

    def replan(self, observed: Observed) -> NDArray[np.int32] | None:
        """Return the owners that the planner chooses."""
        return moved(
            observed.owners, observed.seconds, observed.sizes, observed.workers, self.slack
        )


def parse_policy(text: str | Policy) -> Policy:
    """Read a policy from its spelling, such as ``hash`` or ``restart(seconds=60)``.

    A `Policy` is returned unchanged.

    Raises
    ------
    ConfigurationError
        The policy or a parameter is unknown, or a value is invalid.

    Examples
    --------
    >>> parse_policy("mean(threshold=0.2)")
    ByMean(threshold=0.2, min_improvement=0.3)
    """
    if isinstance(text, Policy):
        return text
    known: dict[str, type[Policy]] = {each.name: each for each in classes_of(Policy)}
    return read("policy", text, known)
