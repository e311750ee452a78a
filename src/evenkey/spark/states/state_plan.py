"""The plan of an epoch of keyed state, and the record of what a slot did in the epoch."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenkey.core.whole_files import check_format
from evenkey.spark.states.pieces import FORMAT, NEW_STATE, Version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class StatePlan:
    """The plan of an epoch, which all its tasks follow.

    Parameters
    ----------
    epoch
        Number of the epoch.
    generation
        Number of the run of the query that made the plan. Each start of a query is a new run.
    operator
        Random text: the call of `stateful` that the plan belongs to.
    shape
        Digest of the columns and partitions (`StateShape.digest`).
    workers
        Number of slots that have partitions, W.
    owners
        Slot of each partition: the P partitions of the shape, and then those of `own`.
    heads
        For each partition, the version of its states at the beginning of the epoch; None: there are
        no states.
    sizes
        Number of states of each partition, at the beginning of the epoch. For a partition that a
        hot key gets in this epoch, of the partition in which the state of the key still is.
    timers
        The earliest timer of each partition, in microseconds; None: there is none.
    latest
        Latest event time before the epoch, in microseconds; None: none is known.
    now
        Time of the clock in the epoch, in microseconds; None: no event time is known.
    loads
        Load of each partition in the epochs since partitions were last considered.
    of_keys
        Hashes and loads, in these epochs, of the keys with most rows, unless states merge.
    rows
        Number of rows in these epochs.
    moved
        Partitions that were on another slot in the previous epoch; for a partition that a hot key
        gets in this epoch, the partition in which the state of the key still is.
    dropped
        Pieces that this plan does not need any more, and the previous plan did: epoch, attempt and
        partition of each.
    hot
        Hashes of the keys whose rows are combined before they are shuffled, if states merge.
    planning_seconds
        Seconds that the decision took.
    own
        The partitions beyond the first P, each of which has the states of one hot key: the hash of
        its key. None: the partition is not used.
    regrouped
        Keys that come to another partition in this epoch: the hash of each, its partition in the
        previous epoch, and its partition in this one. Their states are still in the former.
    """

    epoch: int
    generation: int
    operator: str
    shape: str
    workers: int
    owners: tuple[int, ...]
    heads: tuple[Version | None, ...]
    sizes: tuple[int, ...]
    timers: tuple[int | None, ...]
    latest: int | None = None
    now: int | None = None
    loads: tuple[float, ...] = ()
    of_keys: tuple[tuple[int, float], ...] = ()
    rows: int = 0
    moved: tuple[int, ...] = ()
    dropped: tuple[tuple[Version, int], ...] = ()
    hot: tuple[int, ...] = ()
    planning_seconds: float = 0.0
    own: tuple[int | None, ...] = ()
    regrouped: tuple[tuple[int, int, int], ...] = ()

    @property
    def hashed(self) -> int:
        """Number of partitions to which keys are hashed, P."""
        return len(self.owners) - len(self.own)

    @property
    def own_partitions(self) -> dict[int, int]:
        """Partition of each hash that has one of its own."""
        first = self.hashed
        return {key: first + at for at, key in enumerate(self.own) if key is not None}

    @property
    def unused(self) -> list[int]:
        """Partitions beyond the first P that no key has."""
        return [at for at, key in enumerate(self.own, self.hashed) if key is None]

    def partitions_of(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the partition of each key, int64[n]; `hashes` are int64[n]."""
        found = np.mod(hashes, self.hashed)
        for key, partition in self.own_partitions.items():
            found[hashes == key] = partition
        return found

    def after(self, records: Sequence[SlotWork]) -> Stored:
        """Return what is stored of each partition after the epoch.

        Parameters
        ----------
        records
            Records of the epoch, one for each slot. Empty: no task ran, so nothing has changed.
        """
        heads, sizes, timers = [*self.heads], [*self.sizes], [*self.timers]
        for unused in self.unused if records else ():
            heads[unused], sizes[unused], timers[unused] = None, 0, None
        for record in records:
            for partition, written in record.written.items():
                heads[partition] = Version(self.epoch, record.attempt)
                sizes[partition], timers[partition] = written.keys, written.timer
        return Stored(heads, sizes, timers)

    def of_slot(self, slot: int) -> list[int]:
        """Return the partitions of a slot."""
        return [partition for partition, owner in enumerate(self.owners) if owner == slot]

    def to_json(self) -> dict[str, Any]:
        """Convert to values that JSON can represent."""
        return asdict(self)

    def to_bytes(self) -> bytes:
        """Encode the plan as JSON."""
        return encoded(self.to_json())

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> StatePlan:
        """Restore a plan from the result of `to_json`, after JSON has made lists of tuples."""
        given = dict(fields)
        for name in ("owners", "sizes", "timers", "loads", "moved", "hot"):
            given[name] = tuple(given[name])
        # Plans of earlier versions of evenkey have no partitions of hot keys.
        given["own"] = tuple(given.get("own", ()))
        given["regrouped"] = tuple((*each,) for each in given.get("regrouped", ()))
        given["of_keys"] = tuple((*each,) for each in given.get("of_keys", ()))
        given["heads"] = tuple(None if each is None else Version(*each) for each in given["heads"])
        given["dropped"] = tuple((Version(*piece), number) for piece, number in given["dropped"])
        return cls(**given)


class Stored(NamedTuple):
    """What is stored of each partition, as in a plan.

    Parameters
    ----------
    heads
        The version of its states; None: there are no states.
    sizes
        Number of its states.
    timers
        Its earliest timer, in microseconds; None: there is none.
    """

    heads: list[Version | None]
    sizes: list[int]
    timers: list[int | None]


class Written(NamedTuple):
    """The states of a partition after an epoch.

    Parameters
    ----------
    keys
        Number of states.
    timer
        Earliest timer in microseconds; None: there is none.
    """

    keys: int
    timer: int | None


class Work(NamedTuple):
    """The work on a partition in an epoch.

    Parameters
    ----------
    rows
        Number of rows of the stream, also those that were combined before the shuffle.
    seconds
        Seconds of work in the slot, without loading and writing states.
    results
        Number of rows that the function returned.
    received
        Number of rows that the slot got, of which a partial state is one.
    combining
        Seconds of work of the tasks that made the partial states, in other tasks than the slot's.
    """

    rows: int
    seconds: float
    results: int
    received: int
    combining: float = 0.0


@dataclass(frozen=True)
class SlotWork:
    """What an attempt of a slot's task did in an epoch.

    Parameters
    ----------
    slot
        Number of the slot.
    attempt
        Random text of the attempt, as of `Version`.
    written
        The partitions whose states or keys changed.
    work
        The partitions that had rows or timers that were due, or whose keys changed.
    loaded
        Seconds that loading took, for each partition that was read from the store.
    dropped
        Pieces that are not needed any more, as of `StatePlan`.
    latest
        Latest event time, in microseconds; None: none is known.
    late
        Number of rows that were left out because they were late.
    hottest
        Hashes of the keys with most rows, and their numbers of rows.
    """

    slot: int
    attempt: str
    written: Mapping[int, Written] = field(default_factory=dict)
    work: Mapping[int, Work] = field(default_factory=dict)
    loaded: Mapping[int, float] = field(default_factory=dict)
    dropped: tuple[tuple[Version, int], ...] = ()
    latest: int | None = None
    late: int = 0
    hottest: tuple[tuple[int, int], ...] = ()

    def to_bytes(self) -> bytes:
        """Encode the record as JSON."""
        return encoded(asdict(self))

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> SlotWork:
        """Restore a record from the fields that `decoded` returned."""
        given = dict(fields)
        given["written"] = {int(key): Written(*each) for key, each in given["written"].items()}
        given["work"] = {int(key): Work(*each) for key, each in given["work"].items()}
        given["loaded"] = {int(key): each for key, each in given["loaded"].items()}
        given["dropped"] = tuple((Version(*piece), number) for piece, number in given["dropped"])
        given["hottest"] = tuple((key, count) for key, count in given["hottest"])
        return cls(**given)


def encoded(fields: Mapping[str, Any]) -> bytes:
    """Encode the fields of an object, with the number of the format."""
    return json.dumps({"format": FORMAT, **fields}).encode()


def decoded(content: bytes, path: str) -> dict[str, Any]:
    """Decode what `encoded` returned; `path` is the location, for messages.

    Raises
    ------
    ConfigurationError
        Another version of evenkey wrote it.
    ValueError
        It is not JSON.
    """
    fields = dict(json.loads(content))
    check_format(path, fields.pop("format", None), FORMAT, NEW_STATE)
    return fields
