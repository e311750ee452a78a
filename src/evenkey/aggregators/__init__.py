"""Aggregators: what workers compute, and how partial results merge.

>>> import pyarrow as pa
>>> count = parse("count")
>>> parts = [pa.table({"key": ["a", "b"]}), pa.table({"key": ["a"]})]
>>> partials = pa.concat_tables(count.partial(part, by=["key"]) for part in parts)
>>> count.finish(count.merge(partials, by=["key"]), by=["key"]).to_pylist()
[{'key': 'a', 'count': 2}, {'key': 'b', 'count': 1}]
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from evenkey.aggregators.base import WORKER, Aggregator, Algebraic
from evenkey.aggregators.count import Count
from evenkey.aggregators.fold import Fold
from evenkey.aggregators.groups import number_groups, reduce_groups
from evenkey.aggregators.heavy_hitters import HeavyHitters
from evenkey.aggregators.histogram import Histogram
from evenkey.aggregators.mean import Mean
from evenkey.aggregators.sum import Sum
from evenkey.aggregators.tally import Tally
from evenkey.aggregators.top_k import TopK
from evenkey.doors import late
from evenkey.spelling import read

if TYPE_CHECKING:
    from evenkey.aggregators.base import Merge as Merge
    from evenkey.aggregators.groups import check_names as check_names

__all__ = [
    "WORKER",
    "Aggregator",
    "Algebraic",
    "Count",
    "Fold",
    "HeavyHitters",
    "Histogram",
    "Mean",
    "Sum",
    "Tally",
    "TopK",
    "available",
    "number_groups",
    "parse",
    "reduce_groups",
]

__getattr__ = late(
    __name__,
    {
        "Merge": "evenkey.aggregators.base",
        "check_names": "evenkey.aggregators.groups",
    },
)


def available() -> dict[str, type[Aggregator]]:
    """Every aggregator of the package by its name, found by walking the public names.

    Examples
    --------
    >>> sorted(available())
    ['count', 'heavy-hitters', 'histogram', 'mean', 'sum', 'tally', 'top-k']
    """
    public = (globals()[name] for name in __all__)
    return {
        member.name: member
        for member in public
        if isinstance(member, type)
        and issubclass(member, Aggregator)
        and not inspect.isabstract(member)
    }


def parse(text: str | Aggregator) -> Aggregator:
    """Read an aggregator from its spelling, such as ``count`` or ``sum(column=amount)``.

    An aggregator is given back as it is.

    Raises
    ------
    ConfigurationError
        There is no such aggregator or parameter, or the value does not fit; the message
        lists what there is.

    Examples
    --------
    >>> print(parse("sum(column=amount)"))
    sum(column=amount)
    """
    if isinstance(text, Aggregator):
        return text
    return read("aggregator", text, available())
