"""Keep each unmatched row of a copied side exactly once in the result, under every plan.

If a key is split, its rows on one side are dealt over several workers, and each of its rows on the
other side is copied to all of these workers. A copy may find no match on its worker although
another copy of the same row finds a match. So only the copy on the first of the key's workers may
be in the result as an unmatched row. This first worker must know whether the dealt side has any row
of the key. Therefore each task that deals rows also sends its first row of such a key to the key's
first worker, as a witness. Result rows that were joined with a witness are dropped.

Different keys can have the same hash, such as the arrays [1, null] and [null, 1]. A plan treats
such keys as one, but each of them needs its own witness. So witnesses are chosen by the hash and a
hash of the key's contents (`evenkey.spark.keys.contents`).
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
"""Kinds of rows: the row itself; a further copy; a copy that only shows that its key exists."""
_NONE = -1
_PAIR = np.dtype([("contents", np.int64), ("hash", np.int64)])
LEFT, RIGHT = "__evenkey_left", "__evenkey_right"
"""Columns with the kind of each row, on the left and on the right side."""


def first_of_task(session: SparkSession, keys: Sequence[int]) -> Callable[[Column], Column]:
    """Return a UDF that says whether a row is the first of its key in its task.

    The UDF takes a struct of the hash of the key and a hash of the key's contents. A row whose
    struct is null is never the first.

    Parameters
    ----------
    session
        Session in which the UDF runs.
    keys
        Hashes of the keys to detect; the UDF returns False for rows of other keys.
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
        seen = np.empty(0, _PAIR)
        for batch in batches:
            known = batch.is_valid().to_numpy(zero_copy_only=False)
            pairs = np.empty(len(batch), _PAIR)
            for number, name in enumerate(("hash", "contents")):
                pairs[name] = batch.field(number).fill_null(0).to_numpy()
            first = np.zeros(len(batch), dtype=bool)
            asked = np.flatnonzero(known & np.isin(pairs["hash"], self._keys))
            if len(seen):
                # Sorted search is faster than np.isin on pairs. It misses a pair only if two keys
                # have the same hash of contents; then a row is a witness once more, which is right.
                near = np.searchsorted(seen["contents"], pairs["contents"][asked])
                asked = asked[seen[np.minimum(near, len(seen) - 1)] != pairs[asked]]
            found, rows = np.unique(pairs[asked], return_index=True)
            first[asked[rows]] = True
            seen = np.union1d(seen, found)
            yield pa.array(first)


def without_more(joined: DataFrame) -> DataFrame:
    """Drop result rows that were joined with a witness, and copies without a match."""
    left, right = (F.coalesce(F.col(mark), F.lit(_NONE)) for mark in (LEFT, RIGHT))
    kept = (left != WITNESS) & (right != WITNESS)
    for copy, other in ((left, right), (right, left)):
        kept = kept & ~((copy == COPY) & (other == _NONE))
    return joined.where(kept).drop(LEFT, RIGHT)
