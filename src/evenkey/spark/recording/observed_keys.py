"""Estimate the hot keys of a DataFrame while Spark computes it (`plans.observed_rows`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Observation
from pyspark.sql import functions as F

from evenkey.core.profiles import HotKey, SampledRows
from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.observed_rows import TIER, TIERS, drawn, item_if, observed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from evenkey.spark.recording.keyed_inputs import KeyedInput

_KEYS, _COUNTERS = 200, 2_048
_LONGEST = 200
"""Maximum number of characters of a key that is recorded as text."""
_SIGNED = 1 << 64
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
    observation = Observation(name)
    counts = [each for tier in range(TIERS) for each in _counts(tier)]
    frame = observed(keyed.frame, item, observation, counts)
    added = [each for each in frame.columns if each.startswith(OWN)]
    return ObservedKeys(frame.drop(*added), observation)


def _counts(tier: int) -> tuple[str, str, str]:
    """Return the aggregates of a tier: its rows, its drawn rows, and the drawn rows by key."""
    item = item_if(drawn(tier))
    return (
        f"count_if({TIER} = {tier}) as rows_{tier}",
        f"count_if({drawn(tier)}) as drawn_{tier}",
        f"to_json(approx_top_k({item}, {_KEYS}, {_COUNTERS})) as keys_{tier}",
    )


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
    for tier in range(TIERS):
        rows, taken = (float(counts.get(f"{name}_{tier}") or 0) for name in ("rows", "drawn"))
        total += rows
        for each in json.loads(counts.get(f"keys_{tier}") or "[]"):
            if each.get("item") is None:
                continue  # rows that were not drawn
            hashed, text = _key(each["item"])
            before = keys[hashed].rows if hashed in keys else 0.0
            keys[hashed] = HotKey(hashed, before + each["count"] * rows / taken, text)
    return SampledRows.of(total, list(keys.values()))


def _key(item: int | str) -> tuple[int, str | None]:
    if isinstance(item, int):
        return item % _SIGNED, None
    return int(item[:_HEXADECIMAL], 16), item[_HEXADECIMAL:]
