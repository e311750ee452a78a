"""Sinks: where results go, once for each epoch however often it runs."""

from __future__ import annotations

import shutil
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

__all__ = ["ConsoleSink", "FileSink", "MemorySink", "Sink"]


class Sink(ABC):
    """Takes the results of each epoch; an epoch that runs again replaces its results."""

    @abstractmethod
    def write(self, results: DataFrame, epoch: int) -> None:
        """Take the results that epoch number `epoch` emitted, perhaps none."""


class FileSink(Sink):
    """Parquet or JSON-lines files, one directory ``epoch=N`` an epoch.

    Spark writes into a temporary directory and renames; an epoch that runs again overwrites
    its own directory. So every reader sees each result once, without a log to consult, as
    long as the pipeline is not in the middle of an epoch.

    Parameters
    ----------
    directory
        Where the epochs' directories lie.
    form
        ``"parquet"`` or ``"json"``.
    """

    def __init__(self, directory: Path, form: str) -> None:
        self.directory = directory
        self._form = form

    def write(self, results: DataFrame, epoch: int) -> None:
        """Write the epoch's directory; an epoch without results leaves none."""
        target = self.epoch_directory(epoch)
        results.write.mode("overwrite").format(self._form).save(str(target))
        if not any(_rows(file) for file in target.glob(f"*.{self._form}")):
            shutil.rmtree(target)

    def epoch_directory(self, epoch: int) -> Path:
        """Where the results of an epoch lie, if it has any."""
        return self.directory / f"epoch={epoch:08d}"


def _rows(file: Path) -> int:
    """Whether a part holds anything: its rows, or for text its bytes."""
    if file.suffix == ".parquet":
        return int(pq.read_metadata(file).num_rows)
    return file.stat().st_size


class MemorySink(Sink):
    """Keeps the results as Arrow tables, for tests and notebooks."""

    def __init__(self) -> None:
        self._epochs: dict[int, pa.Table] = {}

    def write(self, results: DataFrame, epoch: int) -> None:
        """Collect the epoch's results."""
        self._epochs[epoch] = results.toArrow()

    def table(self) -> pa.Table:
        """All results so far, in order of epoch."""
        return pa.concat_tables(self._epochs[epoch] for epoch in sorted(self._epochs))


class ConsoleSink(Sink):
    """Prints the results as tables."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def write(self, results: DataFrame, epoch: int) -> None:
        """Print the epoch's results, if there are any."""
        table = results.toArrow()
        if table.num_rows:
            text = table.to_pandas().to_string(index=False)
            print(f"epoch {epoch}\n{text}", file=self._stream)
