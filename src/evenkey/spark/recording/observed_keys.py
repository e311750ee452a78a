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
_NUMBER = "(monotonically_increasing_id() & 8589934591) + 1"
"""Number of a row in its partition, which is in 33 bits of Spark's id."""
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
    columns = {_HASH: item, _ROW: F.expr(_NUMBER), _DRAW: F.rand(0)}
    marked = keyed.frame.withColumns(columns).withColumn(_TIER, F.expr(_tier()))
    observation = Observation(name)
    counts = [each for tier in range(_TIERS) for each in _counts(tier)]
    observed = marked.observe(observation, *map(F.expr, counts))
    added = [each for each in observed.columns if each.startswith(OWN)]
    return ObservedKeys(observed.drop(*added), observation)


def _counts(tier: int) -> tuple[str, str, str]:
    """Return the aggregates of a tier: its rows, its drawn rows, and the drawn rows by key.

    They are text, because each part of a Column costs the driver a call of the JVM.
    """
    drawn = f"{_TIER} = {tier} and {_DRAW} < {_STEP**-tier}"
    return (
        f"count_if({_TIER} = {tier}) as rows_{tier}",
        f"count_if({drawn}) as drawn_{tier}",
        f"to_json(approx_top_k(if({drawn}, {_HASH}, null), {_KEYS}, {_COUNTERS})) as keys_{tier}",
    )


def _tier() -> str:
    """Return the expression of the tier of a row."""
    ends = (_ALL * _STEP**tier for tier in range(_TIERS - 1))
    tiers = "".join(f" when {_ROW} <= {end} then {tier}" for tier, end in enumerate(ends))
    return f"case{tiers} else {_TIERS - 1} end"


def _with_text(keyed: KeyedInput) -> Column:
    named = [column.alias(f"k{number}") for number, column in enumerate(keyed.columns)]
    text = F.substring(F.to_json(F.struct(*named)), 1, _LONGEST)
    digits = F.lpad(F.hex(keyed.hashed), _HEXADECIMAL, "0")
    return F.when(keyed.hashed.isNotNull(), F.concat(digits, text))


def sampled_rows(counts: Mapping[str, Any]) -> SampledRows:
    """Return the rows and the hot keys that an observation counted.

    A drawn row of a tier stands for the rows of the tier over its drawn rows.

    Examples
    --------
    >>> keys = '[{"item": 7, "count": 10}, {"count": 40}]'
    >>> sampled_rows({"rows_0": 50, "drawn_0": 50, "keys_0": keys})
    SampledRows(rows=50.0, keys=(HotKey(hashed=7, rows=10.0, text=None),))
    """
    keys: dict[int, HotKey] = {}
    total = 0.0
    for tier in range(_TIERS):
        rows, drawn = (float(counts.get(f"{name}_{tier}") or 0) for name in ("rows", "drawn"))
        total += rows
        for each in json.loads(counts.get(f"keys_{tier}") or "[]"):
            if each.get("item") is None:
                continue  # rows that were not drawn
            hashed, text = _key(each["item"])
            before = keys[hashed].rows if hashed in keys else 0.0
            keys[hashed] = HotKey(hashed, before + each["count"] * rows / drawn, text)
    return SampledRows.of(total, list(keys.values()))


def _key(item: int | str) -> tuple[int, str | None]:
    if isinstance(item, int):
        return item % _SIGNED, None
    return int(item[:_HEXADECIMAL], 16), item[_HEXADECIMAL:]
