"""Epoch log: the plan of each epoch of a join, and what its slots did."""

from __future__ import annotations

import contextlib
import itertools
import json
import platform
import re
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import at_once, store_at
from evenkey.joins.balance.distributor import Window
from evenkey.joins.balance.placement import Placement
from evenkey.joins.balance.work import PartitionWork
from evenkey.joins.static.manifest import StaticVersion
from evenkey.joins.static.objects import fields_of, unseen, with_format
from evenkey.spark.slots import create, find, put

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evenkey.core.stores import Store

KEPT = 1000
"""Number of epochs whose plans and records are kept."""

_PLAN = re.compile(r"plan-(\d{10})\.json")
_RECORDS = re.compile(r"epoch=(\d{10})/")


@dataclass(frozen=True)
class EpochPlan:
    """The plan of an epoch, which all its tasks follow.

    Parameters
    ----------
    epoch
        Number of the epoch.
    version
        Version of the static data.
    owners
        Slot of each partition. In the joining tasks of a batch that was counted, it is empty,
        because only the task that decides the plan knows the counts.
    redistributions
        Number of epochs so far before which partitions were moved, copied, or no longer copied.
    moved
        Partitions that are on a slot in this epoch but were not on this slot in the previous epoch.
        A partition is listed once for each such slot.
    clock
        Time of the join's clock at the beginning of the epoch, in seconds; None: no event has come
        yet.
    window
        The times and loads that the Dynamic Distributor remembers between epochs.
    planning_seconds
        Seconds that the decision took.
    workers
        Number of slots among which `owners` was chosen; 0: not known.
    copies
        Slots of each copied partition, and the share of the partition's rows that each slot gets.
    """

    epoch: int
    version: StaticVersion
    owners: tuple[int, ...]
    redistributions: int = 0
    moved: tuple[int, ...] = ()
    clock: float | None = None
    window: Window = field(default_factory=Window)
    planning_seconds: float = 0.0
    workers: int = 0
    copies: Mapping[int, Mapping[int, float]] = field(default_factory=dict)

    @property
    def placement(self) -> Placement:
        """The slots of all partitions."""
        return Placement(self.owners, self.copies)

    def serves(self, slot: int, partition: int) -> bool:
        """Return whether rows of a partition may go to a slot."""
        return not self.owners or slot in self.placement.slots(partition)

    def to_bytes(self) -> bytes:
        """Encode the plan as JSON."""
        return json.dumps(with_format(asdict(self))).encode()

    @classmethod
    def from_bytes(cls, content: bytes, path: str = "plan") -> EpochPlan:
        """Decode a plan that `to_bytes` encoded; `path` is its location, for error messages.

        Raises
        ------
        ConfigurationError
            Another version of evenkey wrote it.
        """
        fields = fields_of(content, path)
        fields["version"] = StaticVersion(*fields["version"])
        fields["window"] = Window(**fields["window"])
        fields["owners"], fields["moved"] = tuple(fields["owners"]), tuple(fields["moved"])
        fields["copies"] = {
            int(partition): {int(slot): share for slot, share in shares.items()}
            for partition, shares in fields["copies"].items()
        }
        return cls(**fields)


@dataclass(frozen=True)
class SlotRecord:
    """What one slot did in an epoch.

    Parameters
    ----------
    slot
        Number of the slot.
    work
        For each partition that had items: number of items, seconds of work, number of joined rows.
    loaded
        Seconds that loading took, for each static partition that was loaded for any reason.
    began, ended
        Earliest and latest event time that the slot's `EventClock` accepted, in seconds. The clock
        ignores a minority of wrong times. None: there was no event time.
    distinct
        Number of items whose first copy came to this slot; None: no item has several copies.
    """

    slot: int
    work: dict[int, tuple[int, float, int]]
    loaded: dict[int, float]
    began: float | None = None
    ended: float | None = None
    distinct: int | None = None

    @property
    def seconds(self) -> float:
        """Seconds of work of the slot, including loading."""
        return sum(each[1] for each in self.work.values()) + sum(self.loaded.values())

    def to_bytes(self) -> bytes:
        """Encode the record as JSON."""
        return json.dumps(with_format(asdict(self))).encode()

    @classmethod
    def from_bytes(cls, content: bytes, path: str = "record") -> SlotRecord:
        """Decode a record that `to_bytes` encoded; `path` is its location, for error messages.

        Raises
        ------
        ConfigurationError
            Another version of evenkey wrote it.
        """
        fields = fields_of(content, path)
        fields["work"] = {int(key): tuple(value) for key, value in fields["work"].items()}
        fields["loaded"] = {int(key): value for key, value in fields["loaded"].items()}
        return cls(**fields)


class EpochLog:
    """Plans and records of a query's epochs, stored as objects that are named by epoch.

    Parameters
    ----------
    place
        Location of the log, which the driver and all executors share: a path, a URI or a
        `evenkey.core.stores.Store`.
    """

    def __init__(self, place: str | Path | Store) -> None:
        self.store = store_at(place)

    def plan(self, epoch: int) -> EpochPlan | None:
        """Read the plan of an epoch; None if it has no plan yet.

        Raises
        ------
        RunError
            The plan cannot be read.
        """
        # Plans are not cached: if the location is created again, it has other plans under the same
        # names.
        return self._decoded(epoch, find(self.store, _plan(epoch)))

    def path(self, epoch: int) -> str:
        """Return the location of the plan of an epoch, for error messages."""
        return self.store.path(_plan(epoch))

    def plans(self, *epochs: int) -> list[EpochPlan | None]:
        """Read the plans of several epochs concurrently; None for an epoch without a plan."""
        return at_once(self.plan, epochs)

    def _decoded(self, epoch: int, content: bytes | None) -> EpochPlan | None:
        try:
            return None if content is None else EpochPlan.from_bytes(content, self.path(epoch))
        except ConfigurationError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            message = (
                f"{self.path(epoch)} cannot be read ({error}): start the query again with a new "
                "checkpoint"
            )
            raise RunError(message) from error

    def last_plan(self, before: int) -> EpochPlan | None:
        """Find the last plan before an epoch, by listing the whole log; None: there is none."""
        found = (_PLAN.fullmatch(name) for name in self._names())
        earlier = [int(match[1]) for match in found if match and int(match[1]) < before]
        return self.plan(max(earlier)) if earlier else None

    def settle(self, plan: EpochPlan) -> EpochPlan:
        """Store the plan of an epoch and return it; if another task has stored a plan, return that.

        This also deletes the plan of the epoch that is `KEPT` epochs earlier.
        """
        self._forget(_plan, plan.epoch)
        content = plan.to_bytes()
        if create(self.store, _plan(plan.epoch), content):
            return EpochPlan.from_bytes(content)
        settled = self.plan(plan.epoch)
        if settled is None:
            raise unseen(self.path(plan.epoch), f"host {platform.node()}")
        return settled

    def record(self, epoch: int, record: SlotRecord) -> None:
        """Write the record of a slot; a task that runs again replaces its record.

        This also deletes the slot's record of the epoch that is `KEPT` epochs earlier.
        """
        put(self.store, _record(epoch, record.slot), record.to_bytes())
        self._forget(partial(_record, slot=record.slot), epoch)

    def records(self, epoch: int) -> list[SlotRecord]:
        """Read the records of an epoch, in order of slots.

        Raises
        ------
        RunError
            A record cannot be read.
        """
        names = self._names(_records(epoch))
        read = at_once(partial(find, self.store), names)
        return [
            self._record_of(name, content)
            for name, content in zip(names, read, strict=True)
            if content is not None
        ]

    @staticmethod
    def work(records: Sequence[SlotRecord], partitions: int) -> PartitionWork:
        """Sum the work that the slots of an epoch did for each partition."""
        items = np.zeros(partitions, dtype=np.int64)
        seconds = np.zeros(partitions)
        for record in records:
            for partition, (count, spent, _) in record.work.items():
                items[partition] += count
                seconds[partition] += spent
        firsts = [record.distinct for record in records if record.distinct is not None]
        return PartitionWork(items, seconds, sum(firsts) if firsts else None)

    def _record_of(self, name: str, content: bytes) -> SlotRecord:
        try:
            return SlotRecord.from_bytes(content, self.store.path(name))
        except ConfigurationError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            path = self.store.path(name)
            message = (
                f"{path} cannot be read ({error}): delete it; the loads in it then do not count"
            )
            raise RunError(message) from error

    def epochs(self, after: int | None = None) -> list[int]:
        """Return the numbers of the epochs that have records, ascending.

        Parameters
        ----------
        after
            Number of an epoch that is known to have records. Only epochs that follow this epoch
            without a gap are returned, and the rest of the log is not listed. None: all epochs are
            returned.
        """
        if after is None:
            found = (_RECORDS.match(name) for name in self._names())
            return sorted({int(match[1]) for match in found if match})
        following = itertools.takewhile(
            lambda epoch: self._names(_records(epoch)), itertools.count(after + 1)
        )
        return list(following)

    def _forget(self, name: Callable[[int], str], epoch: int) -> None:
        if epoch >= KEPT:
            # An old object that cannot be deleted does no harm.
            with contextlib.suppress(OSError):
                self.store.delete(name(epoch - KEPT))

    def _names(self, name: str = "") -> list[str]:
        try:
            return self.store.names(name)
        except OSError as error:
            message = f"{self.store.path(name)} cannot be listed ({error}): check its storage"
            raise RunError(message) from error


def _plan(epoch: int) -> str:
    return f"plan-{epoch:010d}.json"


def _records(epoch: int) -> str:
    return f"epoch={epoch:010d}"


def _record(epoch: int, slot: int) -> str:
    return f"{_records(epoch)}/slot-{slot:05d}.json"
