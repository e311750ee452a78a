"""The exported records: the run, and the figures of each epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.metrics import FIGURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.core.metrics import Value


@dataclass(frozen=True)
class RunInfo:
    """The properties that all records of a run share.

    Parameters
    ----------
    run
        Unique name of the run. A run that continues after a stop keeps its name.
    dataset
        Name of the dataset, or the input's paths.
    grouping
        Spelling of the grouping; for a join, the join's pipeline and mode.
    workers, sources
        Number of workers, and number of sources.
    load_unit
        The unit of loads, such as ``messages``.
    """

    run: str
    dataset: str
    grouping: str
    workers: int
    sources: int
    load_unit: str = "messages"


@dataclass(frozen=True)
class HotKey:
    """A hot key of an epoch, with its workers.

    Parameters
    ----------
    key
        Text of the key, truncated if long.
    messages
        Messages of this key in the epoch, or their weight if weights are observed.
    pool
        Numbers of the workers that the key's messages went to, ascending.
    held
        Messages of the key on each of these workers, or their weight.
    run_workers
        Number of workers that the key's messages went to in the run so far; after a change of the
        number of workers, since then.
    """

    key: str
    messages: int
    pool: tuple[int, ...]
    held: tuple[int, ...]
    run_workers: int


@dataclass(frozen=True)
class EpochRecord:
    """The figures of a run after an epoch (DKG paper, section 4.7).

    Each kind of job has its own figures. `evenkey.core.metrics.FIGURES` declares all of them, with
    units and meanings. Figures whose names begin with ``epoch`` cover only this epoch. Other
    figures cover the run so far, including epochs before a restart. An epoch that only closes
    windows has no balance of its own, so figures such as ``epoch_max_over_mean`` are missing.

    Parameters
    ----------
    epoch
        Number of the micro-batch.
    ended
        When the epoch ended, in seconds since 1970.
    figures
        Figures by name; each is a number, or a tuple with one number per worker.
    hottest
        Hottest keys of this epoch, the hottest key first.
    owners
        In a join, the worker that has each static partition in this epoch; otherwise empty.

    Raises
    ------
    ValueError
        A figure is not declared.
    """

    epoch: int
    ended: float
    figures: Mapping[str, Value]
    hottest: tuple[HotKey, ...] = ()
    owners: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        unknown = self.figures.keys() - FIGURES.keys()
        if unknown:
            message = f"figures {sorted(unknown)} are not declared: add them to metrics.FIGURES"
            raise ValueError(message)

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def get(self, name: str) -> Any:
        """Return a figure, or None if the job does not have it."""
        return self.figures.get(name)

    def share_percent(self, hot: HotKey) -> float:
        """Return the share of a hot key in the load of this epoch, in percent."""
        return float(100 * hot.messages / max(1, sum(self["epoch_loads"])))

    def numbers(self) -> dict[str, int | float]:
        """Return the figures that are a single number."""
        return {n: v for n, v in self.figures.items() if isinstance(v, int | float)}

    def by_worker(self) -> dict[str, tuple[int, ...] | tuple[float, ...]]:
        """Return the figures that have one number per worker."""
        return {n: v for n, v in self.figures.items() if isinstance(v, tuple)}
