"""A stream of visits with all kinds of state, and the same states counted in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from evenkey.pipeline.runs.input.sources import Reading, stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

USERS = 13
START = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = 40
OUT = "user string, n long, due long"
_MINUTE = 60


class Visit(NamedTuple):
    """A row of the stream; visits are in the order of their times, 7 s apart."""

    position: int
    user: str | None
    at: datetime
    item: str


def visit(position: int) -> Visit:
    """Return the visit at a position: a third are of one user."""
    user = "hot" if position % 3 == 0 else f"user {position * position % USERS}"
    return Visit(position, user, START + timedelta(seconds=7 * position), f"item {position % 4}")


class Visits(Reading):
    """Reads visits by position."""

    schema = "position bigint, user string, at timestamp, item string"

    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Read the visits of one of the sources."""
        rows = [visit(each)._asdict() for each in range(start, stop) if each % sources == source]
        types = [("position", pa.int64()), ("user", pa.string())]
        times = [("at", pa.timestamp("us", tz="UTC")), ("item", pa.string())]
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=pa.schema([*types, *times]))


def visits(
    session: SparkSession, directory: Path, stop: int, start: str | None = None
) -> DataFrame:
    """Return the stream of the visits below `stop`, with epochs of 40; `start` is an offset."""
    begins: dict[str, Any] = {} if start is None else {"start": start}
    reading = Visits(stop, 1.0)
    file = directory / "stop"
    df = stream_of(session, reading, sources=1, epoch_messages=EPOCH, stop_file=file, **begins)
    return df.withWatermark("at", "0 seconds")


class Visitor(StatefulProcessor):
    """Keeps a value, a list and a map for each user; each visit sets a timer for the next minute.

    The base of two classes, for rows in pandas and as rows.
    """

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.seen = handle.getValueState("seen", "n long, last timestamp")
        self.items = handle.getListState("items", "item string, position long")
        self.counts = handle.getMapState("counts", "item string", "n int, positions array<long>")

    def added(self, rows: list[Any]) -> int:
        """Add the visits of a user; return how many there are so far."""
        n = self.seen.get()[0] if self.seen.exists() else 0
        for row in sorted(rows, key=lambda each: each.position):
            n += 1
            self.items.appendValue((row.item, row.position))
            known: Any = self.counts.getValue((row.item,)) or (0, [])
            counted = (known[0] + 1, [*known[1], row.position])
            self.counts.updateValue((row.item,), counted)
            at = START + timedelta(seconds=7 * row.position)
            self.seen.update((n, at))
            self.handle.registerTimer(due(row.position))
        return n

    def close(self) -> None:
        pass


class InPandas(Visitor):
    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803 - Spark's names
        n = self.added([row for each in rows for row in each.itertuples(index=False)])
        yield pd.DataFrame({"user": [key[0]], "n": [n], "due": [0]})

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):  # noqa: ARG002, N802, N803
        yield pd.DataFrame(
            {"user": [key[0]], "n": [0], "due": [expiredTimerInfo.getExpiryTimeInMs()]}
        )


class InRows(Visitor):
    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803 - Spark's names
        yield Row(user=key[0], n=self.added(list(rows)), due=0)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):  # noqa: ARG002, N802, N803
        yield Row(user=key[0], n=0, due=expiredTimerInfo.getExpiryTimeInMs())


def due(position: int) -> int:
    """Return when the timer of a visit expires: at the end of its minute, in milliseconds."""
    seconds = int((START + timedelta(seconds=7 * position)).timestamp())
    return (seconds // _MINUTE + 1) * _MINUTE * 1000


def counted(stop: int) -> dict[str, Any]:
    """Count the states after the visits below `stop`, in plain Python."""
    every = [visit(position) for position in range(stop)]
    n = Counter(each.user for each in every)
    items, entries = defaultdict(list), defaultdict(list)
    for each in every:
        items[each.user].append((each.item, each.position))
        entries[each.user, each.item].append(each.position)
    watermark = int(every[-1].at.timestamp() * 1000)
    timers = {(each.user, due(each.position)) for each in every}
    return {
        "seen": {each.user: (n[each.user], each.at) for each in every},
        "items": dict(items),
        "counts": {key: (len(found), found) for key, found in entries.items()},
        "timers": {each for each in timers if each[1] > watermark},
        "fired": {each for each in timers if each[1] <= watermark},
    }


def states(session: SparkSession, checkpoint: Path) -> dict[str, Any]:
    """Read the states of a checkpoint with Spark's own source, as `counted` returns them."""

    def rows(**options: str) -> list[Row]:
        reader = session.read.format("statestore").options(**options)
        return reader.load(str(checkpoint)).collect()

    lists = rows(stateVarName="items", flattenCollectionTypes="false")
    return {
        "seen": {
            row.key[0]: (row.value.n, row.value.last.astimezone(UTC))
            for row in rows(stateVarName="seen")
        },
        "items": {row.key[0]: [tuple(each) for each in row.list_value] for row in lists},
        "counts": {
            (row.key[0], row.user_map_key.item): tuple(row.user_map_value)
            for row in rows(stateVarName="counts")
        },
        "timers": {
            (row.key[0], row.expiration_timestamp_ms) for row in rows(readRegisteredTimers="true")
        },
    }


def fired(epochs: dict[int, pa.Table]) -> list[tuple[str, int]]:
    """Return the timers that have expired in epochs, with their users."""
    rows = [row for each in epochs.values() for row in each.to_pylist()]
    return [(row["user"], row["due"]) for row in rows if row["due"]]
