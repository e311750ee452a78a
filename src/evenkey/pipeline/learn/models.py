"""Models of a run: one immutable, numbered object per epoch."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Generic

import pyarrow as pa
import pyarrow.parquet as pq

from evenkey.core.errors import RunError
from evenkey.pipeline.learn.base import Learner, ModelT
from evenkey.pipeline.runs import output_store

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.core.stores import Store

_FILE = re.compile(r"model-(\d{8})\.parquet")
_KEPT = 100


class Models(Generic[ModelT]):
    """Numbered models in a store.

    Epoch n - 1 makes model n, and epoch n starts from model n. A model is written by one exclusive
    create. So readers see the whole model or no model, and an epoch that runs again changes
    nothing.

    Parameters
    ----------
    place
        Location of the models: a store, or a path or URI that the driver and all executors share.
    learner
        The learner of the models.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import tempfile
    >>> from evenkey.applications import NaiveBayes
    >>> models = Models(tempfile.mkdtemp(), NaiveBayes())
    >>> models.write(1, NaiveBayes().start())
    >>> models.numbers()
    [1]

    >>> models.read().predict(pa.table({"text": ["tea"]})).to_pylist()
    [None]
    >>> models.path(1).endswith(models.name(1))
    True
    """

    def __init__(self, place: str | Path | Store, learner: Learner[ModelT]) -> None:
        self.store = output_store(place)
        self.learner = learner

    def numbers(self) -> list[int]:
        """Return the numbers of the models that exist, ascending."""
        names = self.store.names()
        return sorted(int(match[1]) for name in names if (match := _FILE.fullmatch(name)))

    @staticmethod
    def name(number: int) -> str:
        """Return the name of the model of this `number` in the store."""
        return f"model-{number:08d}.parquet"

    def path(self, number: int) -> str:
        """Return the path or URI of the model of this `number`."""
        return self.store.path(self.name(number))

    def write(self, number: int, model: ModelT) -> None:
        """Write `model` as `number` unless it exists, and delete models that nobody needs.

        Raises
        ------
        RunError
            The model cannot be written.
        """
        content = io.BytesIO()
        pq.write_table(model.to_table(), content)
        try:
            self.store.create(self.name(number), content.getvalue(), durable=True)
            for old in self.numbers():
                if old < number - _KEPT:
                    self.store.delete(self.name(old))
        except OSError as error:
            path = self.path(number)
            message = (
                f"model {path} cannot be written ({error}): free some space, or choose another "
                "directory"
            )
            raise RunError(message) from error

    def read(self, epoch: int | None = None) -> ModelT:
        """Read the model that an epoch starts from, or the newest model if `epoch` is None.

        Epoch 0 starts from the learner's empty model, which is also the newest one before there is
        another.

        Raises
        ------
        RunError
            The model is gone, or cannot be read.
        """
        number = max(self.numbers(), default=0) if epoch is None else epoch
        if number == 0:
            return self.learner.start()
        try:
            content = self.store.find(self.name(number))
            if content is not None:
                return self.learner.restore(pq.ParquetFile(pa.BufferReader(content)).read())
        except (OSError, KeyError, ValueError, pa.ArrowInvalid) as error:
            message = (
                f"model {self.path(number)} cannot be read ({error}): start again with a new output"
            )
            raise RunError(message) from error
        message = (
            f"model {self.path(number)} is gone, and epoch {number} starts from it: put it back, "
            "or start again with a new output"
        )
        raise RunError(message)
