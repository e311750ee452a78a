"""What is seen of a join, an epoch or several, as its figures are computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics import Balance, JoinFigures

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.core.metrics import Value
    from evenkey.pipeline.exporters import EpochRecord

_MICROSECONDS = 1e6


def load_unit(*, by_items: bool) -> str:
    """What the loads of workers are counted in, by what the mode balances."""
    return "items" if by_items else "microseconds"


@dataclass(frozen=True)
class JoinSeen:
    """What the figures of a join are computed from, of an epoch or of several.

    Parameters
    ----------
    messages
        Publications, each once.
    items, seconds
        float64[W], load of each slot by either metric.
    by_items
        Which of the two the mode balances.
    threshold
        MLDC above which partitions move.
    matches, moved_partitions, static_loads, redistribution_seconds
        As `evenkey.core.metrics.FIGURES` has them.
    """

    messages: int
    items: NDArray[np.float64]
    seconds: NDArray[np.float64]
    by_items: bool
    threshold: float
    matches: int
    moved_partitions: int
    static_loads: int
    redistribution_seconds: float

    @classmethod
    def before(cls, record: EpochRecord, *, by_items: bool, workers: int) -> Self:
        """Give what was seen up to an epoch, by its record.

        Loads are known by the mode's own metric only, which is all that figures of a run need.
        """
        scale = 1.0 if by_items else _MICROSECONDS
        loads, unknown = np.array(record["loads"]) / scale, np.zeros(workers)
        return cls(
            record["messages"],
            loads if by_items else unknown,
            unknown if by_items else loads,
            by_items,
            record["mldc_threshold"],
            record["matches"],
            record["moved_partitions"],
            record["static_loads"],
            record["redistribution_seconds"],
        )

    @property
    def loads(self) -> NDArray[np.float64]:
        """float64[W], load of each slot by the mode's own metric."""
        return self.items if self.by_items else self.seconds

    def plus(self, later: JoinSeen) -> JoinSeen:
        """Add what is seen of a later epoch."""
        return JoinSeen(
            self.messages + later.messages,
            self.items + later.items,
            self.seconds + later.seconds,
            later.by_items,
            later.threshold,
            self.matches + later.matches,
            self.moved_partitions + later.moved_partitions,
            self.static_loads + later.static_loads,
            self.redistribution_seconds + later.redistribution_seconds,
        )

    def figures(self, *, of_epoch: bool) -> dict[str, Value]:
        """Give the figures under the names of records; loads of seconds in microseconds."""
        scale = 1.0 if self.by_items else _MICROSECONDS
        loads = tuple(round(scale * float(load)) for load in self.loads)
        return {
            **Balance.of(self).named(of_epoch=of_epoch),
            **JoinFigures.of(self).named(of_epoch=of_epoch),
            "epoch_loads" if of_epoch else "loads": loads,
        }
