"""Read the messages of streams, the lines of files and the rows of tables by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.pipeline.runs import DealtReading, Reading
from evenkey.spark.sessions import from_arrow_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams import KeyStream, LineIndex, RowIndex

MESSAGES = "position bigint, key string, count bigint, time timestamp"

_BATCH_ROWS = 1 << 16
_BLOCK = 256


class GeneratorReading(Reading):
    """Messages of a generated stream; if there are S sources, source i mod S reads message i."""

    schema = MESSAGES

    def __init__(self, stream: KeyStream) -> None:
        super().__init__(stream.length, stream.per_second)
        self._stream = stream

    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Generate those of the messages `start` to `stop` - 1 that go to this source."""
        first = start + (source - start) % sources
        for begin in range(first, stop, _BATCH_ROWS * sources):
            end = min(stop, begin + _BATCH_ROWS * sources)
            positions = np.arange(begin, end, sources)
            ids = self._stream.ids(begin, end)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(positions),
                    self._stream.texts(ids[::sources]),
                    pa.array(self._stream.counts(ids, begin)[::sources]),
                    self.times(positions),
                ],
                names=["position", "key", "count", "time"],
            )


class LinesReading(DealtReading):
    """Lines of text files, distributed to the sources round-robin in blocks of `block` lines."""

    schema = "position bigint, line binary, time timestamp"
    columns = ("line",)

    def __init__(self, index: LineIndex, total: int, rate: float, block: int = _BLOCK) -> None:
        super().__init__(total, rate, block)
        self.index = index

    def values(self, begin: int, end: int) -> tuple[pa.Array, ...]:
        """Read lines."""
        return (self.index.read(begin, end),)


class RowsReading(DealtReading):
    """Rows of Parquet files, distributed to the sources round-robin in blocks of `block` rows.

    Further columns of messages (`RowIndex.extra`) come between count and time.
    """

    def __init__(self, index: RowIndex, total: int, rate: float, block: int = _BLOCK) -> None:
        super().__init__(total, rate, block)
        self.index = index
        self.columns = ("key", "count", *index.extra.names)
        own = (f", {spelled(field)}" for field in index.extra)
        self.schema = f"position bigint, key string, count bigint{''.join(own)}, time timestamp"

    def values(self, begin: int, end: int) -> tuple[pa.Array, ...]:
        """Read keys, counts and further columns."""
        rows = self.index.read(begin, end)
        return tuple(rows[name].combine_chunks() for name in self.columns)


def spelled(field: pa.Field) -> str:
    """Return a column's name and type as in a Spark schema, such as ``amount double``."""
    return f"{field.name} {from_arrow_type(field.type).simpleString()}"
