"""Explanations: where an operator sends each key, how balanced its tasks are, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics import makespan, max_over_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenkey.groupings import Plan

_HOT = 0.5
"""A key is hot if its load is at least this fraction of a task's mean load."""
_STORED = "the plan was read from state=, so the operator counts nothing"
_MOST_HOT = 5
"""Maximum number of hot keys in an explanation."""
STATE_KEEPS = "state= keeps the plan for the next call"
"""Follows the cost of counting, where an operator has a `state`."""


def _nothing() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True)
class HotKey:
    """A hot key, and the tasks that process it.

    Parameters
    ----------
    name
        Columns and values, such as ``customer 17``.
    share
        Share of the total load that the key has, from 0 to 1.
    tasks
        Number of tasks over which the load of the key is spread.
    """

    name: str
    share: float
    tasks: int


@dataclass(frozen=True, eq=False)
class Placement:
    """Explanation of where keys go, for one kind of work.

    Parameters
    ----------
    work
        Name of the operator or of its methods.
    choice
        What happens to keys, and why.
    unit
        Unit of the loads, such as ``rows``.
    hot_keys
        The hottest keys, at most 5, each with at least half of a task's mean load.
    loads
        float64[tasks], the predicted load of each task. Empty if Spark's own placement is used.
    spark_loads
        float64[partitions], the load of each task under Spark's own placement; empty if `loads` is
        empty.
    slots
        Number of tasks that run concurrently.
    notes
        Further lines of text, such as a bound or the cost.
    """

    work: str
    choice: str
    unit: str = "rows"
    hot_keys: tuple[HotKey, ...] = ()
    loads: NDArray[np.float64] = field(default_factory=_nothing)
    spark_loads: NDArray[np.float64] = field(default_factory=_nothing)
    slots: int = 1
    notes: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """Predicted speedup: time with Spark's own placement over time with this placement.

        This assumes that time is proportional to load, and that both placements run their tasks on
        `slots` slots. If there is no load, the result is 1.
        """
        return speedup(self.spark_loads, self.loads, self.slots)

    @property
    def lines(self) -> list[str]:
        """Lines of the text that explains this placement."""
        lines = [f"{self.work}: {self.choice}"]
        if self.hot_keys:
            named = (f"{key.name} ({key.share:.1%}, {_tasks(key.tasks)})" for key in self.hot_keys)
            lines.append(f"  hot keys: {'; '.join(named)}")
        if self.loads.any():
            lines += [
                f"  maximum load per task: {self._maximum}",
                (
                    f"  gain: {self.gain:.1f}x faster than Spark's own placement with "
                    f"{_tasks(self.slots)} at a time, if time follows {self.unit}"
                ),
            ]
        return [*lines, *(f"  {note}" for note in self.notes)]

    @property
    def _maximum(self) -> str:
        loads, spark = self.loads, self.spark_loads
        unit = "rows" if self.unit == "rows" else f"units of {self.unit}"
        return (
            f"{loads.max():,.0f} of {loads.sum():,.0f} {unit}, {max_over_mean(loads):.3f} times "
            f"the mean; by Spark's own placement {spark.max():,.0f}, in {_tasks(len(spark))}"
        )


@dataclass(frozen=True)
class Explanation:
    """What an operator would do with its keys, and why; ``str`` returns it as text.

    `explain` returns an instance.

    Parameters
    ----------
    operator
        The operator and its key columns, as text.
    tasks
        Number of tasks that the rows go to.
    placements
        One placement for each kind of work; `groupBy` has several.
    notes
        Further lines of text, before the placements.

    Examples
    --------
    >>> from evenkey.spark import explain, groupBy
    >>> few = spark.range(10).selectExpr("id % 3 as user")
    >>> print(explain(groupBy, few, "user", grouping="spark", workers=2))
    groupBy(user), 2 tasks
    agg, count, sum, avg, mean, min, max, pivot: Spark's own, which combines before its shuffle
    applyInPandas, applyInArrow: Spark's own placement (as requested)
    applyInPandas, applyInArrow with merge=: Spark's own placement (as requested)
    """

    operator: str
    tasks: int
    placements: tuple[Placement, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.operator}, {_tasks(self.tasks)}", *self.notes]
        return "\n".join([*lines, *(line for each in self.placements for line in each.lines)])


def speedup(before: NDArray[np.float64], after: NDArray[np.float64], slots: int) -> float:
    """Return the time with the loads `before` over the time with the loads `after`, on `slots`.

    Time is assumed to be proportional to load; without load, the result is 1.
    """
    if not after.any():
        return 1.0
    return makespan(before.tolist(), slots) / makespan(after.tolist(), slots)


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"


def counted(seconds: float, read: str, error: float = 0.0, costly: str | None = None) -> str:
    """Return a text on the cost of counting.

    Parameters
    ----------
    seconds
        Seconds that counting took.
    read
        What counting read.
    error
        Bound on the error of a worker's load, as a share of the mean; 0: all rows were counted.
    costly
        What made reading costly, such as a Python function; None: nothing did.
    """
    text = f"counting took {seconds:.1f} s and read {read} once more"
    if costly:
        text += f", which computed {costly} once more"
    if not error:
        return text
    return f"{text}, in a sample: no load is off by more than {error:.1%} of the mean"


def counted_in(seconds: float, error: float = 0.0) -> str:
    """Return the end of an operator's log line: how long counting took, and its error.

    Parameters
    ----------
    seconds
        Seconds that counting took; 0: a stored plan is followed.
    error
        As for `counted`.
    """
    if not seconds:
        return "previous plan"
    sampled = f" from a sample, within {error:.1%} of the mean load" if error else ""
    return f"counted in {seconds:.1f} s{sampled}"


def counted_or_stored(
    seconds: float, read: str, error: float = 0.0, costly: str | None = None
) -> str:
    """Return a text on the cost of counting for an operator with a `state`.

    Parameters
    ----------
    seconds
        Seconds that counting took; 0: the plan was read from the state.
    read, error, costly
        As for `counted`.
    """
    return f"{counted(seconds, read, error, costly)}; {STATE_KEEPS}" if seconds else _STORED


def hottest(
    plan: Plan,
    keys: NDArray[np.uint64],
    loads: NDArray[np.float64],
    total: float,
    name: Callable[[np.uint64], str],
) -> tuple[HotKey, ...]:
    """Return the hottest keys with their names and the number of tasks that a plan gives them.

    Parameters
    ----------
    plan
        The plan.
    keys, loads
        Hashes of keys, uint64[k], and load of each of these keys, float64[k].
    total
        Load of all keys.
    name
        Function that returns the name of a key from its hash.
    """
    order = np.argsort(-loads, kind="stable")[:_MOST_HOT]
    return tuple(
        HotKey(name(keys[number]), float(loads[number] / total), plan.spread_of(keys[number]))
        for number in order.tolist()
        if loads[number] * plan.workers >= _HOT * total
    )
