"""Count the keys of a batch in the run that shuffles it, for the plan of the next run."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pyspark.sql import Observation

from evenkey.spark.plans.batch_plans import MOST_TRACKED, items_of
from evenkey.spark.plans.key_sample import bound
from evenkey.spark.plans.observed_rows import STEP, TIERS, drawn, item_if, observed, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import KeyStatistics

_MOST = 10_000
"""Maximum number of keys that are counted in each tier."""
_numbers = itertools.count()
"""Numbers of observations: two in one query must have different names."""


class LearnedLoads(NamedTuple):
    """Rows whose keys Spark counts when it computes them for the first time.

    Parameters
    ----------
    frame
        The rows.
    observation
        Receives the counts.
    """

    frame: DataFrame
    observation: Observation

    @classmethod
    def of(cls, frame: DataFrame, hashed: Column, empty: KeyStatistics) -> LearnedLoads:
        """Let Spark count the keys of a batch.

        Parameters
        ----------
        frame
            The rows.
        hashed
            Hash of a row's key.
        empty
            Statistics of the size that `loads_of` will fill.
        """
        keys, buckets = min(empty.sketch.capacity, _MOST), len(empty.bucket_loads)
        counters = min(2 * buckets, MOST_TRACKED)
        # Rows that were not drawn may count as one further bucket.
        numbers = min(buckets + 1, counters)
        observation = Observation(f"evenkey-run-{next(_numbers)}")
        counts = []
        for tier in range(TIERS):
            key = item_if(drawn(tier))
            bucket = item_if(drawn(tier), f"{{}} & {buckets - 1}L")
            counts += [
                f"to_json(approx_top_k({key}, {keys}, {4 * keys})) as keys_{tier}",
                f"to_json(approx_top_k({bucket}, {numbers}, {counters})) as buckets_{tier}",
            ]
        return cls(observed(frame, hashed, observation, counts), observation)


def loads_of(
    each: Sequence[LearnedLoads], empty: KeyStatistics, workers: int
) -> tuple[KeyStatistics, float] | None:
    """Return the loads that a run has counted; None: the run has not ended, or has failed.

    Parameters
    ----------
    each
        The inputs of the run, which are counted together.
    empty
        Statistics to fill.
    workers
        Number of workers.

    Returns
    -------
    tuple or None
        The statistics, and the bound on the error of a worker's load, as in `KeySample`.
    """
    found = [values_of(one.frame.sparkSession, one.observation) for one in each]
    if not all(found):
        return None
    hashes, counts = [np.empty(0, np.int64)], [np.empty(0)]
    buckets, variance = np.zeros(len(empty.bucket_loads)), 0.0
    for values in found:
        for tier in range(TIERS):
            weight = float(STEP**tier)
            keys, rows = _items(values[f"keys_{tier}"])
            hashes.append(keys)
            counts.append(weight * rows)
            numbers, rows = _items(values[f"buckets_{tier}"])
            buckets[numbers] += weight * rows
            variance += weight * (weight - 1) * float(rows.sum())
    empty.add_parts(hashes, counts, buckets)
    return empty, bound(variance, float(buckets.sum()), workers)


def _items(text: str | None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return items_of(json.loads(text or "[]"))
