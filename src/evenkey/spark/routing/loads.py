"""`observe`: measure loads per worker and replication in each epoch, without a second pass."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from pyspark.sql import Observation
from pyspark.sql import functions as F

from evenkey.core.checking import check_text, check_workers, shown
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.keys.given_columns import check_frame, key_columns, key_hash
from evenkey.spark.sessions.query_events import listen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

_METRIC = "evenkey-loads-"


@dataclass(frozen=True)
class EpochLoads:
    """Loads and numbers of keys of one epoch.

    Parameters
    ----------
    epoch
        Number of the micro-batch; 0 in a batch job.
    loads
        int64[W], messages per worker.
    keys, pairs
        Number of distinct keys and of distinct (key, worker) pairs, estimated by HyperLogLog++ with
        a relative standard deviation of 5 %; None: `observe` got no key.

    Examples
    --------
    >>> import numpy as np
    >>> EpochLoads(epoch=3, loads=np.array([40, 60]), keys=None, pairs=None).loads.tolist()
    [40, 60]
    """

    epoch: int
    loads: NDArray[np.int64]
    keys: int | None
    pairs: int | None


class LoadObserver:
    """Receives what `observe` measures.

    In a stream, the figures of an epoch arrive shortly after the epoch has ended. In a batch job,
    the figures arrive when the first action on the DataFrame has finished.

    Parameters
    ----------
    workers
        Number of workers, W, at least 1.

    Examples
    --------
    >>> from pyspark.sql import functions as F
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> from evenkey.spark import route
    >>> observer = LoadObserver(workers=4)
    >>> routed = clicks.transform(route, "user", "sg", workers=4).transform(observe, observer)
    >>> routed.count()
    100
    >>> int(observer.loads.sum())
    100

    >>> [(seen.epoch, int(seen.loads.sum())) for seen in observer.epochs]
    [(0, 100)]

    `observe` calls `watch`, and each epoch of a stream calls `receive`. This example calls both
    methods directly.

    >>> by_hand = LoadObserver(workers=2)
    >>> watched = by_hand.watch(spark.range(3), [F.count(F.lit(1)).alias("worker_0")])
    >>> other = LoadObserver(workers=2)
    >>> other.receive(0, {"worker_0": 3, "worker_1": 1})
    >>> other.loads.tolist()
    [3, 1]
    """

    def __init__(self, workers: int) -> None:
        check_workers(workers)
        self.workers = workers
        self.name = f"{_METRIC}{uuid.uuid4()}"
        self._epochs: dict[int, EpochLoads] = {}
        self._observation: Observation | None = None
        self._watches = False

    @property
    def epochs(self) -> list[EpochLoads]:
        """Figures of all epochs so far, in order. In a batch, this waits for the first action."""
        if self._observation is not None:
            return [self._read(0, self._observation.get)]
        return [self._epochs[epoch] for epoch in sorted(self._epochs)]

    @property
    def loads(self) -> NDArray[np.int64]:
        """int64[W], messages per worker in all epochs so far."""
        return sum((epoch.loads for epoch in self.epochs), np.zeros(self.workers, dtype=np.int64))

    def watch(self, df: DataFrame, metrics: Sequence[Any]) -> DataFrame:
        """Attach `metrics` to `df`; a LoadObserver observes one DataFrame only."""
        if self._watches:
            message = "this LoadObserver observes a DataFrame already: make one per DataFrame"
            raise RunError(message)
        self._watches = True
        if df.isStreaming:
            _watching[self.name] = self
            listen(df.sparkSession, metrics={_METRIC: _receive})
            return df.observe(self.name, *metrics)
        self._observation = Observation(self.name)
        return df.observe(self._observation, *metrics)

    def receive(self, epoch: int, metrics: Mapping[str, Any]) -> None:
        """Store the `metrics` of an epoch; those of its last run replace earlier ones."""
        self._epochs[epoch] = self._read(epoch, metrics)

    def _read(self, epoch: int, metrics: Mapping[str, Any]) -> EpochLoads:
        loads = np.array(
            [metrics.get(f"worker_{i}", 0) for i in range(self.workers)], dtype=np.int64
        )
        return EpochLoads(epoch, loads, metrics.get("keys"), metrics.get("pairs"))


# Weak references: an observer that the program has dropped needs no more figures.
_watching: WeakValueDictionary[str, LoadObserver] = WeakValueDictionary()


def _receive(session: SparkSession | None, name: str, values: Any, progress: Any) -> None:
    del session
    observer = _watching.get(name)
    if observer is not None:
        observer.receive(progress.batchId, values)


def observe(
    df: DataFrame,
    observer: LoadObserver,
    *,
    key: str | Sequence[str] | None = None,
    column: str = "worker",
) -> DataFrame:
    """Count messages per worker while the DataFrame is computed.

    Parameters
    ----------
    df
        Routed (and optionally placed) rows, batch or streaming.
    observer
        Receives the figures; it must have the worker count that was passed to `route`.
    key
        Key column or columns, to estimate distinct keys and replication too. None: only loads are
        counted.
    column
        The column that holds the worker.

    Returns
    -------
    DataFrame
        The same rows.

    Raises
    ------
    ConfigurationError
        A column is missing, or `observer` is not a `LoadObserver`.
    RunError
        The observer already observes a DataFrame.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> from evenkey.spark import route
    >>> observer = LoadObserver(workers=2)
    >>> routed = clicks.transform(route, "user", "kg", workers=2)
    >>> observe(routed, observer).count()
    100
    >>> sorted(observer.loads.tolist())
    [0, 100]
    """
    check_frame(df)
    if not isinstance(observer, LoadObserver):
        message = f"observer = {shown(observer)}: pass a LoadObserver(workers)"
        raise ConfigurationError(message)
    check_text("column", column, "worker")
    (worker,) = key_columns(df, column, "column")
    metrics = [F.count_if(worker == i).alias(f"worker_{i}") for i in range(observer.workers)]
    if key is not None:
        hashed = key_hash(df, key)
        metrics.append(F.approx_count_distinct(hashed).alias("keys"))
        metrics.append(F.approx_count_distinct(F.xxhash64(hashed, worker)).alias("pairs"))
    return observer.watch(df, metrics)
