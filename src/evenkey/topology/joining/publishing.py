"""Publications as a replayable stream."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evenkey.errors import RunError
from evenkey.topology.sources import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from evenkey.joins.places import Publications

__all__ = ["PUBLICATIONS", "PublicationsReading"]

PUBLICATIONS = "publication bigint, geometry binary, time timestamp"

_BATCH_ROWS = 1 << 14


class PublicationsReading(Reading):
    """Generated publications; number i goes to source i mod S.

    Parameters
    ----------
    file
        Where the generator lies, pickled: it is too large to travel with every task.
    total, rate
        As for every reading.
    """

    schema = PUBLICATIONS

    def __init__(self, file: Path, total: int, rate: float) -> None:
        super().__init__(total, rate)
        self._file = file

    def read(self, start: int, stop: int, source: int, sources: int) -> Iterator[pa.RecordBatch]:
        """Make every S-th publication of the range."""
        publications = _load(self._file)
        first = start + (source - start) % sources
        for begin in range(first, stop, _BATCH_ROWS * sources):
            end = min(stop, begin + _BATCH_ROWS * sources)
            numbers = np.arange(begin, end, sources)
            made = publications.make(numbers).append_column("time", self.times(numbers))
            yield from made.to_batches()


@lru_cache(maxsize=2)
def _load(file: Path) -> Publications:
    try:
        # Written by this run before it started, in its own directory.
        publications: Publications = pickle.loads(file.read_bytes())  # noqa: S301
    except Exception as error:  # unpickling garbage may raise anything
        message = f"{file} cannot be read ({error}): start again with a new output"
        raise RunError(message) from error
    return publications
