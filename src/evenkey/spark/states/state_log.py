"""The log of a query with keyed state: generations, and the plans and records of epochs."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import at_once
from evenkey.spark.slots import create, find, put
from evenkey.spark.states.pieces import Pieces, epoch_folder, forget, name_of
from evenkey.spark.states.state_plan import SlotWork, StatePlan, decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from evenkey.core.stores import Store

Result = TypeVar("Result")

KEPT = 100
"""Number of epochs that a query can be set back by: as many batches as Spark keeps by default."""
_FOLDER = "generations"
_NAME = re.compile(rf"{_FOLDER}/(\d{{8}})\.json")
_SEARCHED = 8
"""Number of the last generations among which that of a run is searched."""


class Generation(NamedTuple):
    """A run of the query that has decided at least one epoch.

    Parameters
    ----------
    number
        1, 2, ... in the order in which the runs decided their first epoch.
    run
        Spark's id of the run.
    first
        The plan of the first epoch of the run.
    after
        Number of the generation whose states the run continued; 0: it began without states.
    """

    number: int
    run: str
    first: StatePlan
    after: int


class StateLog:
    """The plans of a query's epochs, what its slots did, and where their states are.

    Everything is created under a name of its own, and nothing is replaced. The plans of a run have
    the number of its generation in their names. So a run that is set back to an earlier epoch makes
    its own plans from there on, and a task of an earlier run changes nothing that a later run
    reads.

    Parameters
    ----------
    store
        Store of the query.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.pieces = Pieces(store)

    def generations(self) -> list[int]:
        """Return the numbers of all generations, ascending."""
        found = (_NAME.fullmatch(name) for name in self._names(_FOLDER))
        return sorted(int(match[1]) for match in found if match)

    def generation(self, number: int) -> Generation | None:
        """Read a generation; None: there is none of this number."""
        return self._read(
            f"{_FOLDER}/{number:08d}.json",
            lambda fields: Generation(
                number, fields["run"], StatePlan.from_json(fields["first"]), fields["after"]
            ),
        )

    def of_run(self, run: str) -> Generation | None:
        """Find the generation of a run among the last ones; None: it is not there."""
        for number in reversed(self.generations()[-_SEARCHED:]):
            found = self.generation(number)
            if found is not None and found.run == run:
                return found
        return None

    def begin(self, generation: Generation) -> bool:
        """Store a generation, unless another one has its number; return whether this call did."""
        number, run, first, after = generation
        content = encoded({"run": run, "first": first.to_json(), "after": after})
        return create(self.store, f"{_FOLDER}/{number:08d}.json", content)

    def plan(self, generation: Generation, epoch: int) -> StatePlan | None:
        """Return the plan that a run made of an epoch; None: it made none."""
        if epoch <= generation.first.epoch:
            return generation.first if epoch == generation.first.epoch else None
        return self._read(_plan(generation.number, epoch), StatePlan.from_json)

    def plans(self, generation: Generation, *epochs: int) -> list[StatePlan | None]:
        """Return the plans of several epochs, which are read concurrently."""
        return at_once(partial(self.plan, generation), epochs)

    def inherited(self, epoch: int, generations: list[int]) -> StatePlan | None:
        """Return the plan from which a new run continues at an epoch.

        It is the plan of the epoch or, if the epoch has none, the plan of the previous epoch: that
        of the newest generation that has one of the two. A plan of the previous epoch whose slots
        have not all recorded their work is taken only if there is no other: its run was stopped in
        that epoch. None: no generation has a plan, or what the slots did has been deleted.
        """
        otherwise = None
        for number in reversed(generations):
            found = self.generation(number)
            if found is None:
                continue
            own, before = self.plans(found, epoch, epoch - 1)
            if own is not None:
                return own
            if before is None:
                continue
            records = self.records(before)
            if not unrecorded(before, records):
                return before
            if records or self._has(before):
                otherwise = otherwise or before
        return otherwise

    def settle(self, plan: StatePlan) -> StatePlan:
        """Store the plan of an epoch and return it; if a plan was stored already, return that."""
        name = _plan(plan.generation, plan.epoch)
        if not create(self.store, name, plan.to_bytes()):
            found = self._read(name, StatePlan.from_json)
            if found is not None:
                return found
        return plan

    def record(self, plan: StatePlan, work: SlotWork) -> None:
        """Store what an attempt of a slot's task did.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        name = f"{_records(plan)}/{work.slot:05d}-{work.attempt}.json"
        put(self.store, name, work.to_bytes())

    def records(self, plan: StatePlan) -> list[SlotWork]:
        """Read the records of an epoch, one for each slot that has any, in order of slots.

        If several attempts of a slot's task came to their end, their states are the same, and the
        record of one of them is returned.
        """
        by_slot: dict[str, str] = {}
        for name in self._names(_records(plan)):
            by_slot.setdefault(name.rpartition("/")[2].partition("-")[0], name)
        read = at_once(lambda name: self._read(name, SlotWork.from_json), [*by_slot.values()])
        return [each for each in read if each is not None]

    def forget(self, generation: Generation, plan: StatePlan) -> None:
        """Delete what only epochs needed that are more than `KEPT` epochs before a plan.

        These are the pieces that the plan of such an epoch dropped, the pieces of attempts that
        never counted, and the plans and records of the epoch. Plans are deleted before records, so
        that an epoch whose records are gone does not look like one without rows.
        """
        epoch = plan.epoch - KEPT
        if epoch < 0:
            return
        old, after = (self._in_force(generation, each) for each in (epoch, epoch + 1))
        if old is None or after is None:
            return
        self.pieces.delete(old.dropped)
        heads = {
            name_of(head, number) for number, head in enumerate(after.heads) if head is not None
        }
        names = [name for name in self._names(epoch_folder(epoch)) if name not in heads]
        plans = [name for name in names if name.startswith(_plans(epoch))]
        if all(at_once(partial(forget, self.store), plans)):
            at_once(partial(forget, self.store), [*{*names}.difference(plans)])

    def _has(self, plan: StatePlan) -> bool:
        """Return whether a plan is stored in the folder of its epoch, until that is deleted."""
        return find(self.store, _plan(plan.generation, plan.epoch)) is not None

    def _in_force(self, generation: Generation, epoch: int) -> StatePlan | None:
        """Return the plan of an epoch of a generation, or of an earlier one that it continued."""
        found: Generation | None = generation
        while found is not None and epoch < found.first.epoch:
            found = self.generation(found.after)
        return None if found is None else self.plan(found, epoch)

    def _read(self, name: str, restore: Callable[[Mapping[str, Any]], Result]) -> Result | None:
        content = find(self.store, name)
        if content is None:
            return None
        path = self.store.path(name)
        try:
            return restore(decoded(content, path))
        except ConfigurationError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = (
                f"{path} cannot be read ({error}): restore it, or start with a new checkpoint and "
                "a new state"
            )
            raise RunError(message) from error

    def _names(self, folder: str) -> list[str]:
        try:
            return self.store.names(folder)
        except OSError as error:
            message = f"{self.store.path(folder)} cannot be listed ({error}): check its storage"
            raise RunError(message) from error


def unrecorded(plan: StatePlan, records: Sequence[SlotWork]) -> list[int]:
    """Return the slots that have partitions in an epoch, and no record."""
    return sorted({*plan.owners} - {each.slot for each in records})


def _plan(generation: int, epoch: int) -> str:
    return f"{_plans(epoch)}{generation:08d}.json"


def _plans(epoch: int) -> str:
    return f"{epoch_folder(epoch)}/plan-"


def _records(plan: StatePlan) -> str:
    return f"{epoch_folder(plan.epoch)}/records-{plan.generation:08d}"
