"""Draw rows in the pass that computes them, and let Spark count the drawn rows in this pass.

The sample is that of `evenkey.spark.plans.key_sample`, in few tiers: the first rows of a partition
are all drawn, and later ones with a probability that falls with their position. Spark's
``Dataset.observe`` counts the drawn rows of each tier. So no job of its own runs, and no rows are
moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.key_sample import SEED
from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, Observation, SparkSession

_ALL = 10_000
"""The first rows of each partition, all of which are drawn."""
STEP = 16
"""Each tier begins at 16 times the row of the previous one, and a 16th of its rows is drawn."""
TIERS = 4
_NUMBER = "(monotonically_increasing_id() & 8589934591) + 1"
"""Number of a row in its partition, which is in 33 bits of Spark's id."""
_ITEM, _DRAW, _ROW, TIER = (f"{OWN}observed_{name}" for name in ("item", "draw", "row", "tier"))
"""Columns of a row: what is counted, its draw, its number and its tier."""


def observed(
    frame: DataFrame, item: Column, observation: Observation, counts: Sequence[str]
) -> DataFrame:
    """Let Spark count the rows of a batch when it computes them for the first time.

    Parameters
    ----------
    frame
        The rows.
    item
        Column of what is counted.
    observation
        Receives the counts.
    counts
        SQL of the aggregates. They are text, because each part of a Column costs the driver a call
        of the JVM.
    """
    columns = {_ITEM: item, _ROW: F.expr(_NUMBER), _DRAW: F.rand(SEED)}
    marked = frame.withColumns(columns).withColumn(TIER, F.expr(_tier()))
    found = marked.observe(observation, *map(F.expr, counts))
    return found.drop(_ITEM, _ROW, _DRAW, TIER)


def drawn(tier: int) -> str:
    """Return SQL that says whether a row is of a tier and was drawn."""
    return f"{TIER} = {tier} and {_DRAW} < {STEP**-tier}"


def item_if(condition: str, of: str = "{}") -> str:
    """Return SQL of what is counted, null unless a condition holds.

    Examples
    --------
    >>> item_if("tier = 0", "{} & 3")
    'if(tier = 0, __evenkey_observed_item & 3, null)'
    """
    return f"if({condition}, {of.format(_ITEM)}, null)"


def _tier() -> str:
    """Return SQL of the tier of a row."""
    ends = (_ALL * STEP**tier for tier in range(TIERS - 1))
    tiers = "".join(f" when {_ROW} <= {end} then {tier}" for tier, end in enumerate(ends))
    return f"case{tiers} else {TIERS - 1} end"


def values_of(session: SparkSession, observation: Any) -> Mapping[str, Any]:
    """Return the values of an observation; empty if the query has not run, or has failed."""
    try:
        # In a classic session, `get` waits until a query computes the rows.
        if not is_remote(session) and not observation._jo.future().isCompleted():  # noqa: SLF001
            return {}
        values: Mapping[str, Any] = observation.get
    except Exception:  # noqa: BLE001 - the error of the query, or Java has ended
        return {}
    return values
