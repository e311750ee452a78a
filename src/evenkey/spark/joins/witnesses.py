"""Rows of a side that is kept, though it is copied: in the result once, whatever the plan says.

Where the rows of one side of a key are dealt over several workers, those of the other side are
copied to each. Such a copy may find no row on its worker, and the row it is a copy of have a match
all the same. So only one copy, that on the first of the key's workers, is in the result where it
has no match; and there it must meet a row of the other side if there is any at all. Therefore each
task sends the first row that it has of such a key to this worker, too, as a witness. What joins
with a witness is left out.
"""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003 - Spark reads the hints of the functions
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

ONCE, COPY, WITNESS = 0, 1, 2
"""A row of the user's; a further copy of it; a further copy of it that only shows that it is."""
_NONE = -1
LEFT, RIGHT = "__evenkey_left", "__evenkey_right"
"""Columns of marks, of both sides."""


def first_of_task(session: SparkSession, keys: Sequence[int]) -> Callable[[Column], Column]:
    """Make what says of each row, by its hash, whether it is the first of its key in its task.

    A row without a hash never is.

    Parameters
    ----------
    session
        Where it runs.
    keys
        Hashes of the keys in question; no row of another key is the first.
    """
    in_worker = in_workers(session, _FirstOfTask(keys).say)
    udf = F.arrow_udf(in_worker, "boolean")  # type: ignore[call-overload]
    made: Callable[[Column], Column] = udf.asNondeterministic()
    return made


class _FirstOfTask:
    def __init__(self, keys: Sequence[int]) -> None:
        self._keys = np.array(sorted(keys), dtype=np.int64)

    def say(self, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        """Run over the hashes of one partition."""
        left = self._keys
        for hashes in batches:
            here = hashes.fill_null(0).to_numpy()
            known = hashes.is_valid().to_numpy(zero_copy_only=False)
            first = np.zeros(len(here), dtype=bool)
            asked = np.flatnonzero(known & np.isin(here, left))
            found, rows = np.unique(here[asked], return_index=True)
            first[asked[rows]] = True
            left = np.setdiff1d(left, found)
            yield pa.array(first)


def without_more(joined: DataFrame) -> DataFrame:
    """Leave out of a result what joined with witnesses, and copies without a match."""
    left, right = (F.coalesce(F.col(mark), F.lit(_NONE)) for mark in (LEFT, RIGHT))
    kept = (left != WITNESS) & (right != WITNESS)
    for copy, other in ((left, right), (right, left)):
        kept = kept & ~((copy == COPY) & (other == _NONE))
    return joined.where(kept).drop(LEFT, RIGHT)
