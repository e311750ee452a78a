"""Epoch log: what each epoch of a join ran by, and what its slots did."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.errors import RunError
from evenkey.joins.distributor import Window
from evenkey.joins.files import claim, write_file
from evenkey.joins.static_manifest import StaticVersion
from evenkey.joins.work import PartitionWork

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class EpochPlan:
    """What every task of an epoch goes by.

    Parameters
    ----------
    epoch
        Its number.
    version
        Of the static data.
    owners
        Slot of each partition.
    redistributions
        How often partitions have moved so far.
    moved
        Partitions that moved before this epoch.
    clock
        The join's clock at the epoch's begin, in seconds; None before the first event.
    window
        What the Dynamic Distributor remembers.
    planning_seconds
        How long the decision took.
    """

    epoch: int
    version: StaticVersion
    owners: tuple[int, ...]
    redistributions: int = 0
    moved: tuple[int, ...] = ()
    clock: float | None = None
    window: Window = field(default_factory=Window)
    planning_seconds: float = 0.0

    def to_bytes(self) -> bytes:
        """Encode it as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> EpochPlan:
        """Decode what `to_bytes` encoded."""
        fields = json.loads(content)
        fields["version"] = StaticVersion(*fields["version"])
        fields["window"] = Window(**fields["window"])
        fields["owners"], fields["moved"] = tuple(fields["owners"]), tuple(fields["moved"])
        return cls(**fields)


@dataclass(frozen=True)
class SlotRecord:
    """What one slot did in an epoch.

    Parameters
    ----------
    slot
        Its number.
    work
        Items, seconds and rows joined of each partition that had items.
    loaded
        Seconds of each static partition that was loaded, whatever for.
    began, ended
        Least and greatest event time of the rows that bear out the slot's `EventClock`, in
        seconds; None where there is none.
    distinct
        Items of which this slot had the first copy; None where there are no copies.
    """

    slot: int
    work: dict[int, tuple[int, float, int]]
    loaded: dict[int, float]
    began: float | None = None
    ended: float | None = None
    distinct: int | None = None

    @property
    def seconds(self) -> float:
        """Seconds of its work, loading included."""
        return sum(each[1] for each in self.work.values()) + sum(self.loaded.values())

    def to_bytes(self) -> bytes:
        """Encode it as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> SlotRecord:
        """Decode what `to_bytes` encoded."""
        fields: dict[str, Any] = json.loads(content)
        fields["work"] = {int(key): tuple(value) for key, value in fields["work"].items()}
        fields["loaded"] = {int(key): value for key, value in fields["loaded"].items()}
        return cls(**fields)


class EpochLog:
    """Plans and records of a query's epochs, as files named by epoch.

    Parameters
    ----------
    directory
        Reachable under the same path from driver and executors.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def plan(self, epoch: int) -> EpochPlan | None:
        """The plan of an epoch; None where it has none yet.

        Raises
        ------
        RunError
            It cannot be read.
        """
        path = self._plan(epoch)
        return _read_plan(path) if path.exists() else None

    def last_plan(self, before: int) -> EpochPlan | None:
        """The last plan before an epoch; None where there is none."""
        names = (path.stem.removeprefix("plan-") for path in self.directory.glob("plan-*.json"))
        earlier = [int(name) for name in names if int(name) < before]
        return self.plan(max(earlier)) if earlier else None

    def settle(self, plan: EpochPlan) -> EpochPlan:
        """Make this the plan of its epoch, or give the one that another task has settled."""
        path = self._plan(plan.epoch)
        claim(path, plan.to_bytes())
        return _read_plan(path)

    def record(self, epoch: int, record: SlotRecord) -> None:
        """Write down what a slot did; a task that runs again replaces what it wrote."""
        write_file(self._records(epoch) / f"slot-{record.slot:05d}.json", record.to_bytes())

    def records(self, epoch: int) -> list[SlotRecord]:
        """What the slots of an epoch did, in order of slots."""
        files = sorted(self._records(epoch).glob("slot-*.json"))
        return [SlotRecord.from_bytes(file.read_bytes()) for file in files]

    def epochs(self) -> list[int]:
        """Numbers of the epochs that have records, ascending."""
        names = (path.name.removeprefix("epoch=") for path in self.directory.glob("epoch=*"))
        return sorted(map(int, names))

    def forget(self, epoch: int) -> None:
        """Delete an epoch's plan and records."""
        for file in self._records(epoch).glob("slot-*.json"):
            file.unlink(missing_ok=True)
        if self._records(epoch).exists():
            self._records(epoch).rmdir()
        self._plan(epoch).unlink(missing_ok=True)

    def _plan(self, epoch: int) -> Path:
        return self.directory / f"plan-{epoch:010d}.json"

    def _records(self, epoch: int) -> Path:
        return self.directory / f"epoch={epoch:010d}"


def work_of(records: Sequence[SlotRecord], partitions: int) -> PartitionWork:
    """Add up what the slots did for each partition."""
    items = np.zeros(partitions, dtype=np.int64)
    seconds = np.zeros(partitions)
    for record in records:
        for partition, (count, spent, _) in record.work.items():
            items[partition] += count
            seconds[partition] += spent
    firsts = [record.distinct for record in records if record.distinct is not None]
    return PartitionWork(items, seconds, sum(firsts) if firsts else None)


def _read_plan(path: Path) -> EpochPlan:
    try:
        # Read each time: a directory that was made anew has other plans in the same place.
        return _decoded(path.read_bytes())
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} cannot be read ({error}): start the query anew with a new checkpoint"
        raise RunError(message) from error


@lru_cache(maxsize=4)
def _decoded(content: bytes) -> EpochPlan:
    return EpochPlan.from_bytes(content)
