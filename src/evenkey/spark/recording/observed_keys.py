"""Estimate the hot keys of a DataFrame from a sample that Spark draws while it computes the rows.

The sample is that of `evenkey.spark.plans.key_sample`, in few tiers: the first rows of a partition
are all drawn, and later ones with a probability that falls with their position. Spark's
``Dataset.observe`` counts the drawn rows of each tier in a sketch. So no job of its own runs, and
no rows are moved.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Observation
from pyspark.sql import functions as F

from evenkey.core.profiles import HotKey, SampledRows
from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.batch_plans import top

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from evenkey.spark.recording.keyed_inputs import KeyedInput

_ALL = 10_000
"""The first rows of each partition, all of which are drawn."""
_STEP = 16
"""Each tier begins at 16 times the row of the previous one, and a 16th of its rows is drawn."""
_TIERS = 4
_KEYS, _COUNTERS = 200, 2_048
_LONGEST = 200
"""Maximum number of characters of a key that is recorded as text."""
_SIGNED = 1 << 64
_IN_PARTITION = (1 << 33) - 1
_HASH, _DRAW, _ROW, _TIER = (f"{OWN}observed_{name}" for name in ("hash", "draw", "row", "tier"))
_HEXADECIMAL = 16


class ObservedKeys(NamedTuple):
    """A DataFrame whose keys Spark counts when it is computed for the first time.

    Parameters
    ----------
    frame
        The rows, with the columns of the user.
    observation
        Receives the counts.
    """

    frame: DataFrame
    observation: Observation


def observe_keys(keyed: KeyedInput, name: str, *, clear: bool) -> ObservedKeys:
    """Let Spark count the keys of an input.

    Parameters
    ----------
    keyed
        The input with its keys.
    name
        Name of the observation, which event logs contain.
    clear
        Whether to count keys by their text too.
    """
    item = _with_text(keyed) if clear else keyed.hashed
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_IN_PARTITION)) + 1
    numbered = keyed.frame.withColumns({_HASH: item, _ROW: row, _DRAW: F.rand(0)})
    marked = numbered.withColumn(_TIER, _tier())
    observation = Observation(name)
    counts = [
        F.to_json(top(F.when(F.col(_TIER) == tier, F.col(_HASH)), _KEYS, _COUNTERS))
        for tier in range(_TIERS)
    ]
    observed = marked.observe(
        observation,
        F.count(F.lit(1)).alias("rows"),
        *(each.alias(f"tier_{tier}") for tier, each in enumerate(counts)),
    )
    added = [each for each in observed.columns if each.startswith(OWN)]
    return ObservedKeys(observed.drop(*added), observation)


def _tier() -> Column:
    """Return the tier of a row that is drawn; null for all others."""
    last = _TIERS - 1
    tier: Column = F.when(F.col(_ROW) <= _ALL, 0)
    for each in range(1, last):
        tier = tier.when(F.col(_ROW) <= _ALL * _STEP**each, F.when(_is_drawn(each), each))
    drawn: Column = tier.otherwise(F.when(_is_drawn(last), last))
    return drawn


def _is_drawn(tier: int) -> Column:
    return F.col(_DRAW) < 1.0 / _STEP**tier


def _with_text(keyed: KeyedInput) -> Column:
    named = [column.alias(f"k{number}") for number, column in enumerate(keyed.columns)]
    text = F.substring(F.to_json(F.struct(*named)), 1, _LONGEST)
    digits = F.lpad(F.hex(keyed.hashed), _HEXADECIMAL, "0")
    return F.when(keyed.hashed.isNotNull(), F.concat(digits, text))


def sampled_rows(counts: Mapping[str, Any]) -> SampledRows:
    """Return the rows and the hot keys that an observation counted.

    Examples
    --------
    >>> counts = {"rows": 50, "tier_0": '[{"item": 7, "count": 10}, {"count": 40}]'}
    >>> sampled_rows(counts)
    SampledRows(rows=50.0, keys=(HotKey(hashed=7, rows=10.0, text=None),))
    """
    keys: dict[int, HotKey] = {}
    for tier in range(_TIERS):
        for each in json.loads(counts.get(f"tier_{tier}") or "[]"):
            if each.get("item") is None:
                continue  # rows that were not drawn
            hashed, text = _key(each["item"])
            before = keys[hashed].rows if hashed in keys else 0.0
            keys[hashed] = HotKey(hashed, before + float(each["count"]) * _STEP**tier, text)
    return SampledRows.of(float(counts.get("rows") or 0), list(keys.values()))


def _key(item: int | str) -> tuple[int, str | None]:
    if isinstance(item, int):
        return item % _SIGNED, None
    return int(item[:_HEXADECIMAL], 16), item[_HEXADECIMAL:]
