"""Aggregators: what workers compute, and how partial results merge.

>>> import pyarrow as pa
>>> from evenkey.aggregators import Count
>>> count = Count()
>>> parts = [pa.table({"key": ["a", "b"]}), pa.table({"key": ["a"]})]
>>> partials = pa.concat_tables(count.partial(part, by=["key"]) for part in parts)
>>> count.finish(count.merge(partials, by=["key"]), by=["key"]).to_pylist()
[{'key': 'a', 'count': 2}, {'key': 'b', 'count': 1}]
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evenkey.aggregators.base import WORKER as WORKER
from evenkey.aggregators.base import Aggregator, Algebraic
from evenkey.aggregators.count import Count
from evenkey.aggregators.fold import Fold
from evenkey.aggregators.functions import fold
from evenkey.aggregators.groups import number_groups as number_groups
from evenkey.aggregators.groups import reduce_groups
from evenkey.aggregators.heavy_hitters import HeavyHitters
from evenkey.aggregators.histogram import Histogram
from evenkey.aggregators.mean import Mean
from evenkey.aggregators.named_by_users import at_place, is_place, named_spellings
from evenkey.aggregators.several import Several, SeveralAlgebraic
from evenkey.aggregators.sum import Sum
from evenkey.aggregators.tally import Tally
from evenkey.aggregators.top_k import TopK
from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.core.lazy import lazy_names
from evenkey.core.spelling import read

if TYPE_CHECKING:
    from evenkey.aggregators.base import Cast as Cast
    from evenkey.aggregators.base import Merge as Merge
    from evenkey.aggregators.functions import FunctionFold as FunctionFold
    from evenkey.aggregators.groups import check_names as check_names
    from evenkey.aggregators.named_by_users import modules_of as modules_of

__all__ = [
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
    "fold",
    "reduce_groups",
]

__getattr__ = lazy_names(__name__)


def available() -> dict[str, type[Aggregator]]:
    """Return the aggregator classes that this package exports, by name.

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

    Spellings with names, such as ``orders=count,revenue=sum(column=amount)``, make one aggregator
    that computes all of them in one pass. To name your own aggregator, write its module and its
    name there, such as ``shop.folds:visits``. The module may be in the current directory. An
    `Aggregator` is returned unchanged.

    Raises
    ------
    ConfigurationError
        The aggregator or a parameter does not exist, or a value is invalid; the message lists
        the alternatives.

    Examples
    --------
    >>> print(parse("sum(column=amount)"))
    sum(column=amount)
    """
    if isinstance(text, Aggregator):
        return text
    given: object = text  # callers without a type checker pass anything
    if isinstance(given, str) and is_place(given):
        return at_place(given)
    named = named_spellings(given) if isinstance(given, str) else None
    return read("aggregator", text, available()) if named is None else parse_all(named)


def parse_all(aggregators: Mapping[str, str | Aggregator]) -> Several:
    """Read several aggregators; the keys of `aggregators` are the names of their results.

    `parse` reads each aggregator.

    Raises
    ------
    ConfigurationError
        `parse` cannot read an aggregator; or `aggregators` is empty, a name is not a string, or
        an aggregator has one result per window instead of one per key.

    Examples
    --------
    >>> print(parse_all({"orders": "count", "revenue": Sum("amount")}))
    orders=count,revenue=sum(column=amount)
    """
    given: object = aggregators  # callers without a type checker pass anything
    if not isinstance(given, Mapping) or not given:
        message = (
            f"aggregators = {shown(given)}: name a result and say how it is computed; pass "
            "aggregators={'orders': 'count'}"
        )
        raise ConfigurationError(message)
    members = {}
    for name, each in aggregators.items():
        try:
            members[name] = parse(each)
        except ConfigurationError as error:
            message = f"aggregators[{name!r}]: {error}"
            raise ConfigurationError(message) from None
    for name, member in members.items():
        named: object = name
        if not isinstance(named, str) or not named:
            message = (
                f"aggregators: {shown(name)} cannot name a result; pass a text, such as 'orders'"
            )
            raise ConfigurationError(message)
        if member.scope != "key":
            message = (
                f"aggregators[{name!r}] = {str(member)!r}: it has one result per window, over all "
                "keys, and not one per key; pass it alone, as aggregator"
            )
            raise ConfigurationError(message)
    by_column = all(isinstance(each, Algebraic) for each in members.values())
    return (SeveralAlgebraic if by_column else Several)(tuple(members.items()))
