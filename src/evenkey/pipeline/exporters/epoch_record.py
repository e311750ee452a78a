"""What is exported: who runs, and the figures of each epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.metrics import FIGURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.core.metrics import Value


@dataclass(frozen=True)
class RunInfo:
    """What all records of a run share.

    Parameters
    ----------
    run
        Its name, which no other run has; a run that goes on after a stop keeps it.
    dataset
        Name of the dataset, or the input's paths.
    grouping
        Its spelling; of a join its pipeline and mode.
    workers, sources
        How many there are.
    load_unit
        What the loads of workers are counted in, such as ``messages``.
    """

    run: str
    dataset: str
    grouping: str
    workers: int
    sources: int
    load_unit: str = "messages"


@dataclass(frozen=True)
class HotKey:
    """A heavy key of an epoch and where its messages lay.

    Parameters
    ----------
    key
        Its text; a long one is cut.
    messages
        Of this key in the epoch; what they weigh, where weights are observed.
    pool
        Workers that held it, ascending.
    held
        The same on each of these workers.
    """

    key: str
    messages: int
    pool: tuple[int, ...]
    held: tuple[int, ...]


@dataclass(frozen=True)
class EpochRecord:
    """The figures of a run after an epoch (DKG paper, section 4.7).

    Which figures there are depends on the job. All of them are declared in
    `evenkey.core.metrics.FIGURES`, with their units and meanings. What begins with ``epoch`` is of
    this epoch alone; loads, balance and replication without it are of the whole run up to here,
    epochs before a restart included. Times and rates are of the process that ran the epoch.

    Parameters
    ----------
    epoch
        Number of the micro-batch.
    ended
        When it ended, in seconds since 1970.
    figures
        By their names: a number, or one number for each worker.
    hottest
        Heaviest keys of this epoch, the heaviest first.

    Raises
    ------
    ValueError
        A figure is declared nowhere.
    """

    epoch: int
    ended: float
    figures: Mapping[str, Value]
    hottest: tuple[HotKey, ...] = ()

    def __post_init__(self) -> None:
        unknown = self.figures.keys() - FIGURES.keys()
        if unknown:
            message = f"figures {sorted(unknown)} are not declared: metrics.FIGURES names all"
            raise ValueError(message)

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def get(self, name: str) -> Any:
        """Give a figure, or None where the job has none of that name."""
        return self.figures.get(name)

    def numbers(self) -> dict[str, int | float]:
        """Give the figures that are one number each."""
        return {n: v for n, v in self.figures.items() if isinstance(v, int | float)}

    def by_worker(self) -> dict[str, tuple[int, ...] | tuple[float, ...]]:
        """Give the figures that are one number for each worker."""
        return {n: v for n, v in self.figures.items() if isinstance(v, tuple)}
