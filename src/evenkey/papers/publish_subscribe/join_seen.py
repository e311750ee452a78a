"""Observations of a join in one or several epochs, from which its figures are computed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenkey.core.metrics import Balance, JoinFigures

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.core.metrics import Value
    from evenkey.pipeline.exporters import EpochRecord


class LoadMeasure(StrEnum):
    """How a mode measures the load of a slot: by the number of items, or by seconds of work.

    Examples
    --------
    >>> LoadMeasure.SECONDS.unit, LoadMeasure.SECONDS.units_of_one
    ('microseconds', 1000000.0)
    """

    ITEMS = "items"
    SECONDS = "seconds"

    @property
    def unit(self) -> str:
        """Unit in which the records of epochs contain loads."""
        return "items" if self is LoadMeasure.ITEMS else "microseconds"

    @property
    def units_of_one(self) -> float:
        """Number of such units in one item, or in one second."""
        return 1.0 if self is LoadMeasure.ITEMS else 1e6

    def of(self, seen: Loaded) -> NDArray[np.float64]:
        """Return the load of each slot by this measure, float64[W]."""
        return seen.items if self is LoadMeasure.ITEMS else seen.seconds


class Loaded(Protocol):
    """An object that has the load of each slot in items and in seconds."""

    @property
    def items(self) -> NDArray[np.float64]:
        """The number of items (rows that publications become) of each slot, float64[W]."""

    @property
    def seconds(self) -> NDArray[np.float64]:
        """The seconds that each slot spent on its items, float64[W]."""


@dataclass(frozen=True)
class JoinSeen:
    """Observations in one or several epochs, from which the figures of a join are computed.

    Parameters
    ----------
    messages
        Number of publications, each counted once.
    items, seconds
        Load of each slot in items and in seconds, float64[W].
    measure
        The measure of load that the mode uses.
    threshold
        MLDC above which partitions move.
    matches, moved_partitions, static_loads, redistribution_seconds
        As explained in `evenkey.core.metrics.FIGURES`.
    owners
        Slot of each static partition in the last epoch; empty: not known.
    """

    messages: int
    items: NDArray[np.float64]
    seconds: NDArray[np.float64]
    measure: LoadMeasure
    threshold: float
    matches: int
    moved_partitions: int
    static_loads: int
    redistribution_seconds: float
    owners: tuple[int, ...] = ()

    @classmethod
    def before(cls, record: EpochRecord, *, measure: LoadMeasure, workers: int) -> Self:
        """Restore the observations of all epochs up to one epoch from the record of this epoch.

        The record contains loads only by the measure that the mode uses. This is enough for the
        figures of a run.
        """
        known = {each: np.zeros(workers) for each in LoadMeasure}
        known[measure] = np.array(record["loads"]) / measure.units_of_one
        return cls(
            record["messages"],
            known[LoadMeasure.ITEMS],
            known[LoadMeasure.SECONDS],
            measure,
            record["mldc_threshold"],
            record["matches"],
            record["moved_partitions"],
            record["static_loads"],
            record["redistribution_seconds"],
            record.owners,
        )

    @property
    def loads(self) -> NDArray[np.float64]:
        """The load of each slot by the measure that the mode uses, float64[W]."""
        return self.measure.of(self)

    @property
    def static_partitions(self) -> tuple[int, ...]:
        """The number of static partitions of each slot in the last epoch."""
        owners = np.array(self.owners, dtype=np.int64)
        return tuple(map(int, np.bincount(owners, minlength=len(self.items))))

    def plus(self, later: JoinSeen) -> JoinSeen:
        """Add the observations of a later epoch."""
        return JoinSeen(
            self.messages + later.messages,
            self.items + later.items,
            self.seconds + later.seconds,
            later.measure,
            later.threshold,
            self.matches + later.matches,
            self.moved_partitions + later.moved_partitions,
            self.static_loads + later.static_loads,
            self.redistribution_seconds + later.redistribution_seconds,
            later.owners,
        )

    def figures(self, *, of_epoch: bool) -> dict[str, Value]:
        """Return the figures by their names in records; seconds of load become microseconds."""
        loads = tuple(round(self.measure.units_of_one * float(load)) for load in self.loads)
        return {
            **Balance.of(self).named(of_epoch=of_epoch),
            **JoinFigures.of(self).named(of_epoch=of_epoch),
            "epoch_loads" if of_epoch else "loads": loads,
        }
