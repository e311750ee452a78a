"""Replayable streaming sources: any range of positions can be read again at any time."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import pickle
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition

from evenkey.core.errors import RunError
from evenkey.pipeline.runs.input.python_sources import QuietReader, register
from evenkey.spark.sessions import check_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit


_POLL_SECONDS = 0.1
_BEGINNING = '{"position": 0}'
_ORIGIN_SECONDS = 1_577_836_800
"""Event time 0 of a stream: 2020-01-01T00:00:00Z."""


class Reading(ABC):
    """Reads the rows of an input by position (row number); can be pickled.

    Parameters
    ----------
    total
        Number of positions.
    rate
        Positions per second of event time.
    """

    schema: str

    def __init__(self, total: int, rate: float) -> None:
        self.total = total
        self.rate = rate

    @abstractmethod
    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Read one source's share of the positions `start` to `stop` - 1, in order."""

    def times(self, positions: NDArray[np.int64]) -> pa.TimestampArray:
        """Return the event times of positions."""
        micros = (positions * (1_000_000 / self.rate)).astype(np.int64)
        return _timestamps(micros)


class DealtReading(Reading):
    """A reading whose rows go to the sources round-robin, in blocks."""

    columns: tuple[str, ...]

    def __init__(self, total: int, rate: float, block: int) -> None:
        super().__init__(total, rate)
        self._block = block

    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Read the source's blocks of the positions `start` to `stop` - 1."""
        for begin, end in _blocks(start, stop, source, sources, self._block):
            positions = np.arange(begin, end)
            arrays = [pa.array(positions), *self.values(begin, end), self.times(positions)]
            yield pa.RecordBatch.from_arrays(arrays, names=["position", *self.columns, "time"])

    @abstractmethod
    def values(self, begin: int, end: int) -> tuple[pa.Array, ...]:
        """Read the columns between position and time of the rows `begin` to `end` - 1."""


def _blocks(
    start: int, stop: int, source: int, sources: int, size: int
) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of a source's blocks, cut to the positions `start` to `stop` - 1."""
    for block in range(start // size, -(-stop // size)):
        if block % sources == source:
            yield max(start, block * size), min(stop, (block + 1) * size)


def _timestamps(micros: NDArray[np.int64]) -> pa.TimestampArray:
    since_epoch = micros + _ORIGIN_SECONDS * 1_000_000
    return pa.array(since_epoch).cast(pa.timestamp("us", tz="UTC"))


def stream_of(
    spark: SparkSession,
    reading: Reading,
    *,
    sources: int,
    epoch_messages: int,
    stop_file: Path | str,
    arrival_rate: float | None = None,
    start: str = _BEGINNING,
) -> DataFrame:
    """Return a streaming DataFrame with the rows of a reading.

    Parameters
    ----------
    reading
        The input. The row at a position depends only on the reading, so any range of positions can
        be read again after a restart.
    sources
        Number of partitions of each epoch.
    epoch_messages
        Maximum number of positions in an epoch.
    stop_file
        While this file exists, the source offers nothing new. The file is on the driver's host. The
        pickled reading is written to the same directory. It is not passed as an option, because it
        may contain credentials of a store, and Spark shows options in plans.
    arrival_rate
        Number of positions that arrive per second of real time, from the first request of the query
        on. An epoch is offered when its last position has arrived, so an epoch has the same rows at
        any rate. None: all positions are offered immediately.
    start
        Offset at which a new query begins, as JSON, such as one that `rebalance` returns.

    Raises
    ------
    ConfigurationError
        PySpark is older than 4.2.
    """
    check_sources()
    kept = Path(stop_file).with_name(f"reading-{uuid.uuid4().hex}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    content = pickle.dumps(reading)
    with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    return (
        spark.readStream.format(register(spark, _PositionSource))
        .option("reading", str(kept))
        .option("digest", _digest(content))
        .option("schema", reading.schema)
        .option("sources", sources)
        .option("epoch_messages", epoch_messages)
        .option("stop_file", str(stop_file))
        .option("arrival_rate", arrival_rate or math.inf)
        .option("start", start)
        .load()
    )


class _Share(InputPartition):
    def __init__(self, start: int, stop: int, source: int, sources: int) -> None:
        self.range = (start, stop, source, sources)


class _PositionSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "evenkey-positions"

    def schema(self) -> str:
        return self.options["schema"]

    def streamReader(self, schema: Any) -> _PositionReader:  # noqa: N802 - the name is Spark's
        del schema
        return _PositionReader(dict(self.options))


class _Arrivals:
    """Simulates the arrival of positions at a rate, per second of real time.

    Arrivals begin with the first position that a query requests. So a restarted query does not wait
    again for positions that it has already read.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._first: tuple[int, float] | None = None

    def arrived(self, total: int) -> int:
        """Return how many of the first `total` positions have arrived."""
        if self._first is None:
            return 0
        first, began = self._first
        return min(total, first + int(min(total, (monotonic() - began) * self._rate)))

    def await_position(self, start: int, end: int, stop_file: Path) -> bool:
        """Wait for all positions below `end` to arrive; return False if the stop file appears."""
        if self._first is None:
            self._first = (start, monotonic())
        first, began = self._first
        there = began + (end - first) / self._rate
        while (wait := there - monotonic()) > 0:
            if stop_file.exists():
                return False
            sleep(min(wait, _POLL_SECONDS))
        return True


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _unpickled(file: Path, digest: str) -> Reading:
    """Unpickle a file, after checking that `stream_of` wrote its content for this query.

    Raises
    ------
    RunError
        The content differs from what `stream_of` wrote.
    """
    content = file.read_bytes()
    if not hmac.compare_digest(_digest(content), digest):
        message = (
            f"{file} is not what this program wrote: another user writes to {file.parent}; set "
            "TMPDIR to a directory that only you can write, and run again"
        )
        raise RunError(message)
    reading: Reading = pickle.loads(content)  # noqa: S301 - the same bytes
    return reading


class _PositionReader(QuietReader):
    def __init__(self, options: dict[str, str]) -> None:
        self._reading = _unpickled(Path(options["reading"]), options["digest"])
        self._sources = int(options["sources"])
        self._epoch_messages = int(options["epoch_messages"])
        self._stop_file = Path(options["stop_file"])
        self._arrivals = _Arrivals(float(options["arrival_rate"]))
        self._start: dict[str, int] = json.loads(options.get("start", _BEGINNING))

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - the name is Spark's
        return self._start

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - the name is Spark's
        from pyspark.sql.streaming.datasource import ReadMaxRows

        return ReadMaxRows(self._epoch_messages)

    def latestOffset(  # noqa: N802 - the name is Spark's
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        from pyspark.sql.streaming.datasource import ReadMaxRows

        if self._stop_file.exists():
            return start
        total = self._reading.total
        if isinstance(limit, ReadMaxRows):
            end = min(total, start["position"] + limit.max_rows)
            # Wait here, because a source that offers nothing counts as finished.
            arrived = self._arrivals.await_position(start["position"], end, self._stop_file)
            return {"position": end} if arrived else start
        return {"position": total}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 - the name is Spark's
        return {"position": self._arrivals.arrived(self._reading.total)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[_Share]:
        if end["position"] <= start["position"]:
            return []
        return [
            _Share(start["position"], end["position"], source, self._sources)
            for source in range(self._sources)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from self._reading.read(*cast("_Share", partition).range)
