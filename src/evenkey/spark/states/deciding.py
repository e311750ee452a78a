"""Decide the plan of each epoch of keyed state, in one task before all other tasks begin."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.planners import SLACK, SLACK_OF_SECONDS, moved
from evenkey.core.stores import SHARED, unseen
from evenkey.spark.states.own_partitions import chosen, loads_of_keys, received, regrouped
from evenkey.spark.states.state_log import KEPT, Generation, StateLog, unrecorded
from evenkey.spark.states.state_plan import StatePlan
from evenkey.spark.states.worker_count import asked_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenkey.core.stores import Store
    from evenkey.spark.sessions import TaskId
    from evenkey.spark.states.state_plan import SlotWork
    from evenkey.spark.states.state_shape import StateShape
    from evenkey.spark.states.worker_count import Scale

_LEAST_ROWS = 1000
"""Partitions are not moved before this number of rows has shown their loads."""
_REMEDY = f"state must be {SHARED}"
_MICROS = 1_000_000

_generations: dict[tuple[str, str], Generation] = {}
"""The generation of each run that this process has seen, by store and run."""


@dataclass(frozen=True, kw_only=True)
class StatePlans:
    """Decides one plan for each epoch, which all tasks of the epoch follow.

    Parameters
    ----------
    root
        Store of the state.
    shape
        Columns and partitions of the state.
    operator
        Random text that names this call of `stateful`.
    workers, most_workers
        Number of slots that have partitions at first, and number of slots that exist.
    scale
        Function that chooses the number of workers; None: there is none.
    by_rows
        Whether the load of a partition is the number of rows that its slot gets, where a partial
        state is one row, and not the seconds of work.
    merges
        Whether the rows of hot keys are combined before they are shuffled. Otherwise hot keys have
        partitions of their own.
    delay
        How far the clock of event time is behind the latest event time, in microseconds.
    clock
        Function that returns the processing time in seconds.
    """

    root: Store
    shape: StateShape
    operator: str
    workers: int
    most_workers: int
    scale: Scale | None = None
    by_rows: bool = False
    merges: bool = False
    delay: int = 0
    clock: Callable[[], float] = time.time

    def log(self, query: str) -> StateLog:
        """Return the log of a query."""
        return StateLog(self.root.under("queries").under(query))

    def decide(self, task: TaskId, run: str) -> StatePlan:
        """Decide and store the plan of an epoch, or return the plan that the run has stored.

        Parameters
        ----------
        task
            A task of the epoch.
        run
            Spark's id of the run of the query.

        Raises
        ------
        ConfigurationError
            The state belongs to another call, or has nothing of a query that has epochs already.
        RunError
            The state cannot be read or written, or a later run of the query uses it.
        """
        log = self.log(task.query)
        generation = self._generation(log, run)
        if generation is None:
            return self._begin(log, task, run)
        if log.generation(generation.number + 1) is not None:
            message = (
                f"state {log.store.url} is used by a later run of this query: stop one of the two "
                "programs"
            )
            raise RunError(message)
        stored, last = log.plans(generation, task.epoch, task.epoch - 1)
        if stored is generation.first:
            log.settle(stored)
        if stored is not None:
            return self._own(stored)
        if last is None:
            raise self._lost(log, task.epoch)
        plan = log.settle(self._next(log, last, generation.number))
        if last is generation.first:
            log.forget(generation, last)
        log.forget(generation, plan)
        return self._own(plan)

    def recall(self, task: TaskId, run: str) -> StatePlan:
        """Return the plan of an epoch, which `decide` has stored.

        Raises
        ------
        RunError
            The plan cannot be read, or this host does not see it.
        """
        log = self.log(task.query)
        generation = self._generation(log, run)
        plan = None if generation is None else log.plan(generation, task.epoch)
        if plan is None:
            raise unseen(log.store.url, "the host that decided this epoch", _REMEDY)
        return plan

    def _generation(self, log: StateLog, run: str) -> Generation | None:
        known = (log.store.url, run)
        if known not in _generations:
            found = log.of_run(run)
            if found is None:
                return None
            _generations[known] = found
        return _generations[known]

    def _begin(self, log: StateLog, task: TaskId, run: str) -> StatePlan:
        """Decide the first epoch of a run; of several tasks that do so, all return one plan."""
        while True:
            numbers = log.generations()
            newest = log.generation(numbers[-1]) if numbers else None
            if newest is not None and newest.run == run:
                return self.decide(task, run)
            number = numbers[-1] + 1 if numbers else 1
            first, after = self._first(log, task.epoch, numbers, number)
            if log.begin(Generation(number, run, first, after)):
                return self.decide(task, run)

    def _first(
        self, log: StateLog, epoch: int, generations: list[int], number: int
    ) -> tuple[StatePlan, int]:
        """Return the first plan of a run, and the number of the generation that it continues."""
        if not generations:
            if epoch:
                message = (
                    f"state {log.store.url} has no states of this query, which has {epoch} epochs "
                    "already: restore the state, or start with a new checkpoint"
                )
                raise ConfigurationError(message)
            return self._initial(number), 0
        found = log.inherited(epoch, generations)
        if found is None:
            raise self._lost(log, epoch)
        if found.shape != self.shape.digest:
            message = (
                f"state {log.store.url} has states of other columns or partitions than "
                f"{self.root.url} says: restore the state, or start with a new checkpoint and a "
                "new state"
            )
            raise ConfigurationError(message)
        if found.epoch != epoch:
            return self._next(log, found, number), found.generation
        # The epoch runs again, in another run: nothing that its tasks did then counts.
        workers = self._workers(found.workers, None)
        owners = self._owners(found, np.array(found.loads), workers, enough=False)
        first = replace(
            found,
            generation=number,
            operator=self.operator,
            workers=workers,
            owners=owners,
            hot=found.hot if self.merges else (),
        )
        return first, found.generation

    def _initial(self, generation: int) -> StatePlan:
        count = self.shape.partitions
        return StatePlan(
            epoch=0,
            generation=generation,
            operator=self.operator,
            shape=self.shape.digest,
            workers=self.workers,
            owners=tuple(partition % self.workers for partition in range(count)),
            heads=(None,) * count,
            sizes=(0,) * count,
            timers=(None,) * count,
            now=None if self.shape.event_time else self._processing_time(None),
            loads=(0.0,) * count,
        )

    def _next(self, log: StateLog, last: StatePlan, generation: int) -> StatePlan:
        started = time.perf_counter()
        records = log.records(last)
        self._check_read(log, last, records)
        times = [last.latest, *(record.latest for record in records)]
        latest = max((each for each in times if each is not None), default=None)
        workers = self._workers(last.workers, _seconds(last, records))
        measured = self._measured(last, records)
        loads = np.array(last.loads) + measured
        whole = not self.merges and workers > 1
        of_keys = loads_of_keys(last, records, measured) if whole else {}
        rows = last.rows + sum(work.rows for each in records for work in each.work.values())
        enough = bool(records) and rows >= _LEAST_ROWS
        stored = last.after(records)
        following = replace(
            last,
            epoch=last.epoch + 1,
            generation=generation,
            operator=self.operator,
            heads=tuple(stored.heads),
            sizes=tuple(stored.sizes),
            timers=tuple(stored.timers),
            latest=latest,
            now=self._now(latest, last.now),
            loads=tuple(loads.tolist()),
            of_keys=tuple(of_keys.items()),
            rows=rows,
            hot=last.hot if self.merges else (),
            dropped=tuple(piece for record in records for piece in record.dropped),
            # Without records no task ran, so the keys are still in their previous partitions.
            regrouped=() if records else last.regrouped,
        )
        expected = loads
        if enough:
            hot = _hot(records, workers) if self.merges else ()
            own = chosen(last.own, of_keys, loads.sum() / workers)
            expected = _expected(last, loads, records, {*hot})
            following, expected = regrouped(following, own, of_keys, expected)
            none = (0.0,) * len(expected)
            following = replace(following, hot=hot, rows=0, loads=none, of_keys=())
        owners = self._owners(following, expected, workers, enough=enough)
        changes = np.array(owners) != np.array(following.owners)
        return replace(
            following,
            workers=workers,
            owners=owners,
            moved=tuple(np.flatnonzero(changes).tolist()),
            planning_seconds=time.perf_counter() - started,
        )

    @staticmethod
    def _check_read(log: StateLog, last: StatePlan, records: Sequence[SlotWork]) -> None:
        """Check that the tasks of all slots have run in an epoch, or none of them.

        Spark runs no task if the epoch has no rows. If it ran some tasks only, it needed no more
        results, such as those of timers. The other slots may have rows.

        Raises
        ------
        RunError
            The tasks of some slots have not run.
        """
        missing = unrecorded(last, records)
        if missing and records:
            message = (
                f"state {log.store.url} has no record of slot {missing[0]} in epoch {last.epoch}: "
                "the results of stateful must be read in all partitions; put limit, first, isEmpty "
                "and the like after a sink, restore the state, or start with a new checkpoint and "
                "a new state"
            )
            raise RunError(message)

    def _measured(self, plan: StatePlan, records: Sequence[SlotWork]) -> NDArray[np.float64]:
        """Return the load of each partition in the epoch of a plan, float64[n].

        The work of making partial states does not count, because it does not move with a partition.
        """
        if self.by_rows:
            return received(plan, records)
        loads = np.zeros(len(plan.owners))
        for record in records:
            for partition, work in record.work.items():
                loads[partition] += work.seconds
        return loads

    def _owners(
        self, last: StatePlan, loads: NDArray[np.float64], workers: int, *, enough: bool
    ) -> tuple[int, ...]:
        if workers == last.workers and not enough:
            return last.owners
        sizes = np.array(last.sizes, dtype=np.float64)
        # Without any load, partitions are dealt by their numbers of states.
        shown = loads if loads.sum() > 0 else sizes + 1.0
        slack = SLACK if self.by_rows else SLACK_OF_SECONDS
        owners = moved(np.array(last.owners, dtype=np.int32), shown, sizes, workers, slack)
        return tuple(owners.tolist())

    def _workers(self, last: int, seconds: NDArray[np.float64] | None) -> int:
        otherwise = self.workers if self.scale is None else last
        return asked_workers(self.root, otherwise, self.most_workers, self.scale, seconds)

    def _now(self, latest: int | None, before: int | None) -> int | None:
        """Return the time of the clock, which never goes back."""
        if not self.shape.event_time:
            return self._processing_time(before)
        if latest is None:
            return before
        return latest - self.delay if before is None else max(before, latest - self.delay)

    def _processing_time(self, before: int | None) -> int:
        now = int(self.clock() * _MICROS)
        return now if before is None else max(now, before)

    def _own(self, plan: StatePlan) -> StatePlan:
        """Return a plan, unless another call of `stateful` in the same run has made it.

        Raises
        ------
        ConfigurationError
            Another call has made it.
        """
        if plan.operator != self.operator:
            message = (
                f"state {self.root.url} is used by two calls of stateful in epoch {plan.epoch} of "
                "one query: pass another location to one of them"
            )
            raise ConfigurationError(message)
        return plan

    def _lost(self, log: StateLog, epoch: int) -> RunError:
        return RunError(
            f"state {log.store.url} has no plan of epoch {epoch} or {epoch - 1}: call stateful in "
            f"each epoch, set a checkpoint back by at most {KEPT} epochs, restore the state, or "
            "start with a new checkpoint and a new state"
        )


def _hot(records: Sequence[SlotWork], workers: int) -> tuple[int, ...]:
    """Return the keys that have more than half of a worker's fair share of the rows."""
    total = sum(work.rows for each in records for work in each.work.values())
    counts = (found for record in records for found in record.hottest)
    return tuple(sorted(key for key, count in counts if 2 * workers * count > total))


def _expected(
    last: StatePlan, loads: NDArray[np.float64], records: Sequence[SlotWork], after: set[int]
) -> NDArray[np.float64]:
    """Return the load of each partition in the next epoch, in which other keys are hot, float64[n].

    The rows of a key that becomes hot will not come to its partition, and those of a key that was
    hot will.

    Parameters
    ----------
    last
        Plan of the last epoch.
    loads
        Loads that were measured, float64[n].
    records
        Records of the last epoch.
    after
        Hashes of the keys that will be combined before the shuffle.
    """
    rows, more, before = received(last, records), np.zeros(len(loads)), {*last.hot}
    for record in records:
        keys = np.array([key for key, _ in record.hottest], dtype=np.int64)
        partitions = last.partitions_of(keys).tolist()
        for (key, count), partition in zip(record.hottest, partitions, strict=True):
            more[partition] += count * ((key in before) - (key in after))
    # Rows that will not come took the time of the others there; nobody has seen those that will.
    all_alike = loads.sum() / max(rows.sum(), 1)
    of_a_row = np.where(more < 0, loads / np.maximum(rows, 1), all_alike)
    return np.maximum(loads + more * of_a_row, 0.0)


def _seconds(last: StatePlan, records: Sequence[SlotWork]) -> NDArray[np.float64]:
    """Return the seconds of work of each worker in an epoch, float64[W], with loading.

    The tasks that read the stream share the work of making partial states, so each worker has an
    equal share of it.
    """
    combining = sum(work.combining for each in records for work in each.work.values())
    seconds = np.full(last.workers, combining / last.workers)
    for record in records:
        if record.slot < last.workers:
            spent = sum(work.seconds for work in record.work.values())
            seconds[record.slot] += spent + sum(record.loaded.values())
    return seconds
