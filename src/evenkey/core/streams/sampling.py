"""Samples of records: the first records, or records at equal distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.core.streams.splits import Split

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.core.streams.file_stream import Records

_PIECE = 1 << 16


@dataclass(frozen=True)
class FirstRecords:
    """A sample: the first `length` records of `records`."""

    records: Records
    length: int

    def __len__(self) -> int:
        """Return the number of records in the sample."""
        return self.length

    def split(self, start: int, stop: int) -> Split:
        """Split records `start` to `stop` - 1; in the result, ``line`` is 0 for record `start`."""
        return self.records.split(start, min(stop, self.length))


@dataclass(frozen=True)
class SpreadRecords:
    """A sample at equal distances: record i of the sample is record ``i * N // n`` of `records`.

    N is the number of `records`, and n is `length`. All records between the first and the last
    requested record are read and split, piece by piece.
    """

    records: Records
    length: int

    def __len__(self) -> int:
        """Return the number of records in the sample."""
        return self.length

    def split(self, start: int, stop: int) -> Split:
        """Split records `start` to `stop` - 1; in the result, ``line`` is 0 for record `start`."""
        numbers = np.arange(start, min(stop, self.length)) * len(self.records) // self.length
        first, last = (int(numbers[0]), int(numbers[-1]) + 1) if len(numbers) else (0, 0)
        pieces = [
            self._piece(begin, min(begin + _PIECE, last), numbers)
            for begin in range(first, last, _PIECE)
        ]
        pieces = pieces or [self.records.split(0, 0)]
        return Split(*(pa.concat_tables(tables) for tables in zip(*pieces, strict=True)))

    def _piece(self, begin: int, end: int, numbers: NDArray[np.int64]) -> Split:
        split = self.records.split(begin, end)
        return Split(*(_chosen(table, begin, numbers) for table in split))


def _chosen(table: pa.Table, begin: int, numbers: NDArray[np.int64]) -> pa.Table:
    """Keep the rows of records in `numbers`; ``line`` becomes the record's index in `numbers`."""
    lines = table["line"].to_numpy() + begin
    places = np.minimum(np.searchsorted(numbers, lines), len(numbers) - 1)
    kept = numbers[places] == lines
    column = table.schema.get_field_index("line")
    return table.set_column(column, "line", pa.array(places)).filter(pa.array(kept))
