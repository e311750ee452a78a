"""`explain`: say what an operator would do with its keys, and why."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ParamSpec

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.asof import asof_join
from evenkey.spark.asof.match_request import MatchRequest
from evenkey.spark.groups import groupBy
from evenkey.spark.groups.explain_groups import explain_groups
from evenkey.spark.joins import join
from evenkey.spark.joins.join_request import JoinRequest
from evenkey.spark.joins.join_strategy import explain_join
from evenkey.spark.routing.for_files import explain_files, partition_for_write
from evenkey.spark.windows import over
from evenkey.spark.windows.explain_over import explain_over
from evenkey.spark.windows.window_request import WindowRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkey.spark.keys.explanation import Explanation

P = ParamSpec("P")


def explain(operator: Callable[P, Any], *arguments: P.args, **options: P.kwargs) -> Explanation:
    """Say what an operator would do if it were called with these arguments, and why.

    This counts the keys of a batch as the operator does; if in a sample, the text states the bound
    on the error. If the `state` of the operator has a plan, that plan is explained. The explanation
    also compares this placement of keys with Spark's own, which sends each key by its hash to one
    of ``spark.sql.shuffle.partitions`` tasks. If the loads are costs, this comparison reads the
    input one more time. Changes that adaptive execution would make are not considered.

    Parameters
    ----------
    operator
        `groupBy`, `join`, `asof_join`, `over` or `partition_for_write`.
    arguments
        Positional arguments of the operator, such as the DataFrame and the key.
    options
        Keyword arguments of the operator, such as ``workers=8``.

    Returns
    -------
    Explanation
        As text, it lists the hot keys (each with a share and a number of tasks), the predicted load
        per task, the gain and the cost. The attributes hold the same figures.

    Raises
    ------
    ConfigurationError
        `operator` is not one of these functions, or the operator itself raises this error.
    RunError
        The operator itself raises this error.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> explanation = explain(groupBy, clicks, "user", workers=2)
    >>> whole, split = explanation.placements
    >>> [(key.name, key.share, key.tasks) for key in whole.hot_keys]
    [('user ann', 0.8, 1)]
    >>> [(key.name, key.share, key.tasks) for key in split.hot_keys]
    [('user ann', 0.8, 2)]
    >>> whole.loads.tolist(), split.loads.round().tolist()
    ([80.0, 20.0], [50.0, 50.0])
    >>> by_spark = explain(join, spark.range(9), spark.range(3).hint("broadcast"), "id", workers=4)
    >>> by_spark.placements[0].choice.partition(",")[0]
    "Spark's own join (it broadcasts a side"
    """
    found = _EXPLAINED.get(operator)
    if found is None:
        names = ", ".join(each.__name__ for each in _EXPLAINED)
        message = (
            f"operator = {getattr(operator, '__name__', shown(operator))}: explain knows {names}; "
            "pass the function and then its arguments: explain(groupBy, df, 'key')"
        )
        raise ConfigurationError(message)
    given = inspect.signature(operator).bind(*arguments, **options)
    given.apply_defaults()
    return found(*given.args, **given.kwargs)


def _join(*arguments: Any, **options: Any) -> Explanation:
    return explain_join(JoinRequest.of(*arguments, **options))


def _groups(*arguments: Any, **options: Any) -> Explanation:
    return explain_groups(groupBy(*arguments, **options).rows)


def _windows(*arguments: Any, **options: Any) -> Explanation:
    return explain_over(WindowRequest.of(*arguments, **options))


def _matches(*arguments: Any, **options: Any) -> Explanation:
    return explain_over(MatchRequest.of(*arguments, **options).windows)


_EXPLAINED: dict[Callable[..., Any], Callable[..., Explanation]] = {
    asof_join: _matches,
    groupBy: _groups,
    join: _join,
    over: _windows,
    partition_for_write: explain_files,
}
