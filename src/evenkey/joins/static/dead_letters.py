"""Dead letters: rows that cannot be joined, kept with the reason instead of lost."""

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
"""Kind under which the stream's are written, by epoch."""
STATIC_DEAD_LETTERS = "static-dead-letters"
"""Kind under which the static side's are written, by version."""
KINDS_OF_DEAD_LETTERS = (DEAD_LETTERS, STATIC_DEAD_LETTERS)


class DeadLetters(Protocol):
    """Where dead letters go; picklable, for tasks write them.

    Examples
    --------
    >>> class Printed:
    ...     def write(self, kind, epoch, part, table):
    ...         print(kind, table.to_pylist())
    >>> letter = pa.table({"row": ["?"], "reason": ["geometry is null"]})
    >>> Printed().write("dead-letters", 0, 0, letter)
    dead-letters [{'row': '?', 'reason': 'geometry is null'}]
    """

    def write(self, kind: str, epoch: int, part: int, table: pa.Table) -> None:
        """Write a task's dead letters of an epoch: its rows, with a column ``reason``.

        A task that runs again writes the same.
        """


class Nowhere:
    """Lets dead letters go: where rows are only counted, and come once more."""

    def write(self, kind: str, epoch: int, part: int, table: pa.Table) -> None:
        """Write nothing."""


class LetterBox:
    """Sorts the rows of a task: good ones pass, others become dead letters.

    Parameters
    ----------
    dead_letters
        Takes what cannot be used; None: raise.
    kind, epoch
        What they are written under.
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
        """Let good rows pass, each table with its geometries.

        Parameters
        ----------
        tables
            All of the task's rows.
        vet
            Takes a table to the table to go on with, its geometries (None where a row
            cannot be used), and the reasons.

        Raises
        ------
        RunError
            A row cannot be used, and dead letters go nowhere; the message says why.
        """
        letters = []
        for table in tables:
            mended, geometries, reasons = vet(table)
            missing = shapely.is_missing(geometries)
            if not missing.any():
                yield mended, geometries
                continue
            rejected, good = np.flatnonzero(missing), np.flatnonzero(~missing)
            if self._dead_letters is None:
                message = (
                    f"{len(rejected)} rows cannot be joined, the first because its "
                    f"{reasons[rejected[0]]}: mend or drop them, or pass dead_letters=... to keep "
                    "them apart"
                )
                raise RunError(message)
            texts = pa.array([str(each) for each in reasons[rejected]])
            letters.append(table.take(rejected).append_column("reason", texts))
            yield mended.take(good), geometries[good]
        if letters and self._dead_letters is not None:
            part = current_task().partition
            self._dead_letters.write(self._kind, self._epoch, part, pa.concat_tables(letters))
