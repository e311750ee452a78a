"""What is exported: who runs, and the metrics of each epoch."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EpochRecord", "HotKey", "RunInfo"]


@dataclass(frozen=True)
class RunInfo:
    """What all records of a run share.

    Parameters
    ----------
    run
        Tells runs apart; a run that goes on after a stop keeps it.
    dataset
        Name of the dataset, or the input's paths.
    grouping
        Its spelling.
    workers, sources
        How many there are.
    """

    run: str
    dataset: str
    grouping: str
    workers: int
    sources: int


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
    """The observer's metrics after an epoch (DKG paper, section 4.7).

    What begins with ``epoch`` is of this epoch alone; loads, balance and replication without
    it are of the whole run up to here, epochs before a restart included. Times and rates are
    of the process that runs now.

    Parameters
    ----------
    epoch
        Number of the micro-batch.
    ended
        When it ended, in seconds since 1970.
    messages
        In this epoch.
    total_count
        Messages up to here (TOTAL_COUNT).
    rejected
        Lines in dead letters up to here.
    duration
        Seconds from the start of the first epoch to the end of this one (DURATION).
    throughput, epoch_throughput
        Messages a second (THROUGHPUT, equation 6): over the duration, and in this epoch.
    latency_ms, latency_p50_ms, latency_p99_ms
        How long this epoch took, and percentiles over the epochs up to here.
    std_dev, epoch_std_dev
        Standard deviation of the workers' loads in percent of all messages (STD_DEV,
        equation 7).
    dist_cost, epoch_dist_cost
        Mean number of workers a key lies on (DIST_COST, equation 8).
    max_over_mean, epoch_max_over_mean
        Fullest worker over the mean.
    loads, epoch_loads
        Messages of each worker; what they weigh, where weights are observed.
    hottest
        Heaviest keys of this epoch, the heaviest first.
    """

    epoch: int
    ended: float
    messages: int
    total_count: int
    rejected: int
    duration: float
    throughput: float
    epoch_throughput: float
    latency_ms: float
    latency_p50_ms: float
    latency_p99_ms: float
    std_dev: float
    epoch_std_dev: float
    dist_cost: float
    epoch_dist_cost: float
    max_over_mean: float
    epoch_max_over_mean: float
    loads: tuple[int, ...]
    epoch_loads: tuple[int, ...]
    hottest: tuple[HotKey, ...] = ()

    def figures(self) -> dict[str, int | float]:
        """Give everything that is one number, but when it was."""
        lists = ("ended", "loads", "epoch_loads", "hottest")
        return {name: value for name, value in vars(self).items() if name not in lists}
