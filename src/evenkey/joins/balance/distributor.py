"""Dynamic Distributor: watches the load of locations and decides when partitions move."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.checking import check_fields, shown
from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import max_load_distance
from evenkey.core.planners import greedy
from evenkey.core.spelling import unknown_name
from evenkey.joins.balance.placement import Placement, divided
from evenkey.joins.balance.work import CLOCKS, PartitionWork, seconds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evenkey.core.planners import Planner
    from evenkey.joins.balance.work import LoadClock, LoadMetric

_MOST_EPOCHS = 64
"""The window has this many parts; loads of epochs that end in the same part are added up."""


@dataclass
class Window:
    """What the Distributor remembers between epochs; it can be stored as JSON.

    Parameters
    ----------
    checked
        Time of the last check of the loads; before the first check, the time at which the stream
        began. None: the first epoch has not ended yet.
    redistributed
        Time when partitions last moved; None: never.
    epochs
        For each epoch in the window: the time of its end, and the load of each partition. Short
        epochs are combined.
    items
        Number of items of the stream since the stream began.
    """

    checked: float | None = None
    redistributed: float | None = None
    epochs: list[tuple[float, list[float]]] = field(default_factory=list)
    items: int = 0

    def to_json(self) -> dict[str, Any]:
        """Convert to values that JSON can represent; `Window(**...)` restores it."""
        return asdict(self)

    def moved(self, by: float) -> Window:
        """Shift all times by `by` seconds, as the clock was shifted, so that loads do not age."""
        return Window(
            None if self.checked is None else self.checked + by,
            None if self.redistributed is None else self.redistributed + by,
            [(clock + by, loads) for clock, loads in self.epochs],
            self.items,
        )


@dataclass(frozen=True)
class DynamicDistributor:
    """Algorithm 1: redistribute partitions if the most loaded location is too far above the mean.

    A location is a worker slot. Every `period` seconds, the Distributor sums the load of each
    partition over the window, which is the last ``wait_periods * period`` seconds. (The paper does
    not define the window. A window of this length follows a stream that changes. When the next
    redistribution is possible, loads from before the last redistribution have left the window.)
    Partitions move when all of these conditions hold:

    - The maximum load distance coefficient MLDC of the locations, ``max / mean - 1``, is above
      `threshold`.
    - At least `min_items` items have come since the stream began, because with fewer items the
      loads are not known well enough. An item that went to several partitions counts once.
    - Partitions have not moved within ``wait_periods * period`` seconds.
    - The new plan lowers MLDC by more than `min_improvement`.

    The defaults of the first five parameters are those of Table 1 of the paper.

    Parameters
    ----------
    threshold
        MLDC above which partitions may move, at least 0. With 0.5, they stay while no location has
        more than 1.5 times the mean load.
    min_items
        Number of items of the stream before which no partition moves, at least 0.
    wait_periods
        Minimum time between two redistributions, and length of the window, as a number of periods;
        at least 0.
    period
        Time between two checks of the loads, in seconds of the join's clock, above 0.
    min_improvement
        By how much a new plan must lower MLDC, at least 0; otherwise partitions stay.
    load
        Function that computes the load of each partition from its work. None: the join's `balance`
        decides; the default is the seconds of work.
    load_clock
        Clock that measures the seconds of work. ``processor``: processor time of the joining task's
        own thread, which is stable on loaded machines. ``wall``: elapsed time. Elapsed time
        includes waiting: the work after the join may wait for services, devices and other threads,
        and Spark's own operators in the same task may delay the joined rows.
    planner
        Function that chooses the new location of each partition if no partition is copied. It gets
        the location of each partition (int32[P]), their loads (float64[P]) and the number of
        locations, and returns the new locations. The default is greedy. It moves one partition
        after the other to the least loaded location, each time the partition whose move lowers the
        maximum load most, until MLDC is at most 0.15 or no move helps.
    copies
        Whether to copy a partition that has more than the fair load of a location, since moving
        such a partition would not help. It is copied to as many locations as its load needs, and
        these locations share its items. The paper has no copies.
    forced
        Numbers of epochs before which partitions always move, for experiments. If the planner would
        move no partition, every partition goes to the next location.

    Raises
    ------
    ConfigurationError
        A parameter is out of range.

    Notes
    -----
    Marić et al., Dynamic Load Balancing in Stream Processing Pipelines Containing
    Stream-Static Joins (Electronics 2023), section 3, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> eager = DynamicDistributor(threshold=0.2, min_items=100)
    >>> eager.period * eager.wait_periods  # seconds between redistributions, at least
    30.0

    The steps of the Distributor between two epochs, with 4 partitions on 2 workers. The first
    worker has the most load. A join takes these steps itself, and makes the objects that they need.
    The classes of these objects are not public; to compare parameters, `rehearse` needs none.

    >>> from evenkey.joins.balance.distributor import Window
    >>> from evenkey.joins.balance.placement import Placement
    >>> from evenkey.joins.balance.work import PartitionWork
    >>> before = Placement((0, 0, 1, 1))
    >>> work = PartitionWork(np.array([50, 40, 10, 10]), np.array([5.0, 4.0, 1.0, 1.0]))
    >>> eager.look_once(before, work, workers=2).owners
    (0, 1, 1, 1)
    >>> window = eager.take_in(Window(), work, began=0.0, now=10.0)
    >>> window, after = eager.look(window, before, 2, now=10.0, epoch=1)
    >>> after.owners, window.redistributed
    ((0, 1, 1, 1), 10.0)
    """

    threshold: float = 0.5
    min_items: int = 1000
    wait_periods: int = 3
    period: float = 10.0
    min_improvement: float = 0.3
    load: LoadMetric | None = None
    load_clock: LoadClock = "processor"
    planner: Planner = greedy
    copies: bool = True
    forced: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("threshold", "min_items", "wait_periods", "min_improvement"):
            if not getattr(self, name) >= 0:
                message = f"distributor: {name} = {getattr(self, name)}: must be at least 0"
                raise ConfigurationError(message)
        for name in ("load", "planner"):
            value = getattr(self, name)
            if not (callable(value) or (name == "load" and value is None)):
                message = f"distributor: {name} = {shown(value)}: must be a function"
                raise ConfigurationError(message)
        if not self.period > 0:
            message = f"distributor: period = {self.period}: must be above 0 seconds"
            raise ConfigurationError(message)
        if self.load_clock not in CLOCKS:
            error = unknown_name("load_clock", self.load_clock, CLOCKS)
            raise error

    def take_in(self, window: Window, work: PartitionWork, *, began: float, now: float) -> Window:
        """Return the window with one more epoch, and without epochs that are too old.

        Parameters
        ----------
        window
            The window after the previous epoch; not modified.
        work
            Work of the epoch that has ended.
        began
            Time of the clock at the beginning of the epoch, in seconds.
        now
            Time of the clock at the end of the epoch, in seconds.
        """
        length = self.wait_periods * self.period
        epochs = [each for each in window.epochs if each[0] > now - length]
        loads = np.asarray((self.load or seconds)(work))
        grain = length / _MOST_EPOCHS
        if epochs and grain > 0 and now // grain == epochs[-1][0] // grain:
            loads = loads + epochs.pop()[1]
        epochs.append((now, [float(each) for each in loads]))
        checked = began if window.checked is None else window.checked
        return Window(checked, window.redistributed, epochs, window.items + work.total)

    def look(
        self, window: Window, before: Placement, workers: int, *, now: float, epoch: int
    ) -> tuple[Window, Placement]:
        """Decide, between two epochs, on the placement of partitions in the next epoch.

        Parameters
        ----------
        window
            The window that `take_in` returned; not modified.
        before
            The placement of the epoch that has ended.
        workers
            Number of locations, W.
        now
            Time of the clock, in seconds.
        epoch
            Number of the next epoch.

        Returns
        -------
        tuple
            The window for the next call, and the placement; `before` if nothing moves.
        """
        if epoch not in self.forced:
            if window.checked is None or now - window.checked < self.period:
                return window, before
            window = replace(window, checked=now)
            if not self._may_move(window, now):
                return window, before
        if not window.epochs:
            return window, before
        loads = np.sum([each[1] for each in window.epochs], axis=0)
        planned = self._plan(before, loads, workers, force=epoch in self.forced)
        if planned is None:
            return window, before
        return replace(window, checked=now, redistributed=now), planned

    def look_once(self, before: Placement, work: PartitionWork, workers: int) -> Placement:
        """Decide on the placement for work that is known in advance, such as the work of a batch.

        Parameters
        ----------
        before
            The placement if nothing moves.
        work
            The work to come.
        workers
            Number of locations, W.
        """
        if work.total < self.min_items:
            return before
        loads = np.asarray((self.load or seconds)(work), dtype=np.float64)
        return self._plan(before, loads, workers, force=False) or before

    def rehearse(self, loads: ArrayLike, workers: int, *, epoch_seconds: float) -> list[Placement]:
        """Decide on the placements of a stream whose loads are known; no join runs.

        Use it to compare parameters. Each unit of load counts as an item and as a second.

        Parameters
        ----------
        loads
            Load of each partition in each epoch, at least 0, shape [E, P].
        workers
            Number of locations, W, to which the partitions are assigned in turn at first.
        epoch_seconds
            Time between the ends of two epochs, in seconds.

        Returns
        -------
        list of Placement
            The placement in each epoch. Its attribute `owners` has the location of each partition.

        Examples
        --------
        >>> loads = [[50, 40, 10, 10], [60, 30, 10, 10]]
        >>> eager = DynamicDistributor(threshold=0.2, min_items=100, copies=False)
        >>> [each.owners for each in eager.rehearse(loads, workers=2, epoch_seconds=10)]
        [(0, 1, 0, 1), (0, 1, 0, 1)]
        >>> loads = [[50, 10, 40, 10], [60, 10, 30, 10]]
        >>> [each.owners for each in eager.rehearse(loads, workers=2, epoch_seconds=10)]
        [(0, 1, 0, 1), (0, 1, 1, 1)]
        """
        known = np.asarray(loads, dtype=np.float64)
        placed = Placement(tuple(partition % workers for partition in range(known.shape[1])))
        window, placements = Window(), []
        for epoch, load in enumerate(known, 1):
            placements.append(placed)
            work = PartitionWork(load.astype(np.int64), load)
            now = epoch * epoch_seconds
            window = self.take_in(window, work, began=now - epoch_seconds, now=now)
            window, placed = self.look(window, placed, workers, now=now, epoch=epoch)
        return placements

    def _may_move(self, window: Window, now: float) -> bool:
        wait = self.wait_periods * self.period
        rested = window.redistributed is None or now - window.redistributed >= wait
        return rested and window.items >= self.min_items

    def _plan(
        self, before: Placement, loads: NDArray[np.float64], workers: int, *, force: bool
    ) -> Placement | None:
        current = max_load_distance(before.loads(loads, workers))
        if current <= self.threshold and not force:
            return None
        planned = self._planned(before, loads, workers)
        if force and planned == before:
            return Placement(tuple((owner + 1) % workers for owner in before.owners))
        improvement = current - max_load_distance(planned.loads(loads, workers))
        enough = force or improvement > self.min_improvement
        return planned if enough and planned != before else None

    def _planned(self, before: Placement, loads: NDArray[np.float64], workers: int) -> Placement:
        if self.copies and loads.max(initial=0) > loads.sum() / workers:
            return divided(before, loads, workers)
        owners = self.planner(np.array(before.owners, dtype=np.int32), loads, workers)
        return Placement(tuple(map(int, owners)))
