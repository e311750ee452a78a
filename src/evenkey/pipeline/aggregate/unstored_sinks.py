"""Sinks without files: results stay in memory, or are printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import pyarrow as pa

from evenkey.pipeline.runs import Sink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from evenkey.pipeline.runs import Part


class MemorySink(Sink):
    """Keeps the results as Arrow tables, for tests and notebooks."""

    def __init__(self) -> None:
        self._epochs: dict[int, pa.Table] = {}

    def write(self, results: DataFrame, epoch: int) -> Sequence[tuple[Part, str]]:
        """Collect the epoch's results."""
        self._epochs[epoch] = results.toArrow()
        return ()

    def table(self) -> pa.Table:
        """Return all results so far, in order of epochs."""
        return pa.concat_tables(self._epochs[epoch] for epoch in sorted(self._epochs))


class ConsoleSink(Sink):
    """Prints the results as tables."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def write(self, results: DataFrame, epoch: int) -> Sequence[tuple[Part, str]]:
        """Print the epoch's results, if there are any."""
        table = results.toArrow()
        if table.num_rows:
            text = table.to_pandas().to_string(index=False)
            print(f"epoch {epoch}\n{text}", file=self._stream)
        return ()
