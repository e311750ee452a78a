"""Models of a run: a numbered file an epoch, never changed once it is there."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Generic

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.errors import RunError
from evenkey.files import create_whole
from evenkey.pipelines.learn.learner import Learner, ModelT

if TYPE_CHECKING:
    from collections.abc import Iterable

_FILE = re.compile(r"model-(\d{8})\.parquet")
_KEPT = 100


class Models(Generic[ModelT]):
    """A directory of numbered models.

    Model n is what epoch n starts from, and what epoch n - 1 made. It is made by one exclusive
    create, so whoever reads it sees all of it, and an epoch that runs again changes nothing.

    Parameters
    ----------
    directory
        Where they lie, reachable under the same path from the driver and from every executor.
    learner
        Whose models they are.
    """

    def __init__(self, directory: str | Path, learner: Learner[ModelT]) -> None:
        self.directory = Path(directory)
        self.learner = learner

    def numbers(self) -> list[int]:
        """Numbers of the models that exist, ascending."""
        names: Iterable[str] = ()
        if self.directory.is_dir():
            names = (path.name for path in self.directory.iterdir())
        return sorted(int(match[1]) for name in names if (match := _FILE.fullmatch(name)))

    def path(self, number: int) -> Path:
        """Where a model lies."""
        return self.directory / f"model-{number:08d}.parquet"

    def write(self, number: int, model: ModelT) -> Path:
        """Write a model unless it is there, and drop those that nobody can need any more.

        Raises
        ------
        RunError
            The directory cannot be written.
        """
        content = io.BytesIO()
        pq.write_table(model.to_table(), content)
        path = self.path(number)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            create_whole(path, content.getvalue(), durable=True)
            for old in self.numbers():
                if old < number - _KEPT:
                    self.path(old).unlink(missing_ok=True)
        except OSError as error:
            message = f"model {path} cannot be written: {error}; free or choose a directory"
            raise RunError(message) from error
        return path

    def read(self, epoch: int | None = None) -> ModelT:
        """Read the model that an epoch starts from; None: the newest there is.

        Raises
        ------
        RunError
            The model cannot be read.
        """
        numbers = [each for each in self.numbers() if epoch is None or each <= epoch]
        if not numbers:
            return self.learner.start()
        path = self.path(numbers[-1])
        try:
            return self.learner.restore(pq.ParquetFile(path).read())
        except (OSError, KeyError, ValueError, pa.ArrowInvalid) as error:
            message = f"model {path} cannot be read ({error}): start again with a new output"
            raise RunError(message) from error
