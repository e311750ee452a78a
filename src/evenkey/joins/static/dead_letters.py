"""Dead letters: rows that cannot be joined, which are stored with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from evenkey.core.errors import RunError
from evenkey.core.extras import Extra
from evenkey.spark.sessions import current_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import shapely
    from numpy.typing import NDArray
else:
    shapely = Extra("shapely", "geo", "a spatial join")

DEAD_LETTERS = "dead-letters"
"""Kind of the stream's dead letters, which are stored by epoch."""
STATIC_DEAD_LETTERS = "static-dead-letters"
"""Kind of the static side's dead letters, which are stored by version."""
KINDS_OF_DEAD_LETTERS = (DEAD_LETTERS, STATIC_DEAD_LETTERS)


class DeadLetters(Protocol):
    """Writes dead letters; must be picklable, because Spark's tasks call `write`.

    Examples
    --------
    >>> class Printed:
    ...     def write(self, kind, epoch, part, table):
    ...         print(kind, table.to_pylist())
    >>> rejected = pa.table({"row": ["?"], "reason": ["geometry is null"]})
    >>> Printed().write("dead-letters", 0, 0, rejected)
    dead-letters [{'row': '?', 'reason': 'geometry is null'}]
    """

    def write(self, kind: str, epoch: int, part: int, table: pa.Table) -> None:
        """Write the dead letters of a task in an epoch: rows with a column ``reason``.

        A task that runs again writes the same rows.
        """


class Nowhere:
    """Drops dead letters of rows that are only counted now, because these rows are read again."""

    def write(self, kind: str, epoch: int, part: int, table: pa.Table) -> None:
        """Write nothing."""


class RowFilter:
    """Separates the rows of a task: usable rows pass, the others become dead letters.

    Parameters
    ----------
    dead_letters
        Writes the dead letters; None: a row that cannot be used raises an error.
    kind, epoch
        Kind and epoch under which the dead letters are written.
    """

    def __init__(self, dead_letters: DeadLetters | None, kind: str, epoch: int) -> None:
        self._dead_letters = dead_letters
        self._kind = kind
        self._epoch = epoch

    def keep_good(
        self,
        tables: Iterable[pa.Table],
        vet: Callable[[pa.Table], tuple[pa.Table, NDArray[np.object_], NDArray[np.object_]]],
    ) -> Iterator[tuple[pa.Table, NDArray[np.object_]]]:
        """Yield the usable rows of each table, with their geometries.

        Parameters
        ----------
        tables
            All rows of the task.
        vet
            Function that takes a table and returns three values: the table with repaired
            geometries, its geometries (None if a row cannot be used), and the reasons why rows
            cannot be used.

        Raises
        ------
        RunError
            A row cannot be used, and there is no writer of dead letters. The message says why the
            row cannot be used.
        """
        dead = []
        for table in tables:
            repaired, geometries, reasons = vet(table)
            missing = shapely.is_missing(geometries)
            if not missing.any():
                yield repaired, geometries
                continue
            rejected, good = np.flatnonzero(missing), np.flatnonzero(~missing)
            if self._dead_letters is None:
                message = (
                    f"{len(rejected)} rows cannot be joined, the first because its "
                    f"{reasons[rejected[0]]}: fix or drop them, or pass dead_letters=... to store "
                    "them separately"
                )
                raise RunError(message)
            texts = pa.array([str(each) for each in reasons[rejected]])
            dead.append(table.take(rejected).append_column("reason", texts))
            yield repaired.take(good), geometries[good]
        if dead and self._dead_letters is not None:
            part = current_task().partition
            self._dead_letters.write(self._kind, self._epoch, part, pa.concat_tables(dead))
