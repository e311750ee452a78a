"""Recognise inputs that are costly to compute, in the plan of the columns that counting reads."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from pyspark import StorageLevel

from evenkey.spark.sessions.printed_plans import printed_plan

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

_OPERATOR = re.compile(r"^([ :|+-]*)(?:\*\(\d+\) ?)?(Scan In-memory table|\w+)")
"""Matches a line of a printed plan: where it is in the tree, and the name of the operator."""
_CACHED = frozenset({"InMemoryTableScan", "Scan In-memory table"})
"""Operators that read a cache; the second one reads a cached table or view."""
_COSTLY = {
    r"\w*(?:Python|Pandas|InArrow)\w*": "a Python function",
    r"MapElements|MapPartitions|MapGroups|AppendColumns": "a function on rows",
    r"\w*Aggregate": "an aggregate",
    r"(?!Broadcast)\w*Join|CartesianProduct": "a join",
    r"Window\w*": "a window",
    r"Generate": "a generator",
    r"Sort|(?!Broadcast)\w*Exchange": "a shuffle or a sort",
}
"""Operators of physical plans, and what they do; the first that is found is named."""
_NOTICED = 5.0
"""Counting that takes fewer seconds is not worth a warning."""


def costly_part(counted: DataFrame) -> str | None:
    """Return what makes a batch costly to compute; None: nothing does.

    The plan is the one that Spark will run. So a Python function whose result counting does not
    need is not in it. What is below a cache is not computed again.

    Parameters
    ----------
    counted
        The columns that counting reads.

    Examples
    --------
    >>> rows = spark.range(9).selectExpr("id % 3 as k")
    >>> costly_part(rows), costly_part(rows.groupBy("k").count())
    (None, 'an aggregate')
    """
    operators = list(_operators(printed_plan(counted)))
    for pattern, what in _COSTLY.items():
        if any(re.fullmatch(pattern, each) for each in operators):
            return what
    return None


def warn_of_costly(
    logger: logging.Logger, operator: str, counted: Iterable[DataFrame], seconds: float, fix: str
) -> None:
    """Warn that counting took long, and computed a costly input that is computed once more.

    Parameters
    ----------
    logger
        Logger of the operator.
    operator
        The operator and its keys, as text.
    counted
        The columns that counting read, of each input.
    seconds
        Seconds that counting took; a short time is not worth a warning.
    fix
        What the user can do.
    """
    if seconds < _NOTICED:
        return
    what = next((part for each in counted if (part := costly_part(each)) is not None), None)
    if what is not None:
        logger.warning(
            "%s: counting took %.0f s, because it computed %s of the input, which the result "
            "computes again; %s",
            operator,
            seconds,
            what,
            fix,
        )


@contextlib.contextmanager
def read_once(result: DataFrame, inputs: DataFrame) -> Iterator[DataFrame]:
    """Let several parts of one query read a result that is computed once.

    Spark computes the shuffle of such a result once, unless it reads a cache: adaptive execution
    takes each scan of a cache for another one. So the result is then cached, too, on disk, while
    the context lasts.

    Parameters
    ----------
    result
        Rows that several parts read, all of them behind one shuffle.
    inputs
        What is shuffled.
    """
    if _CACHED.isdisjoint(_operators(printed_plan(inputs))):
        yield result
        return
    # On disk, because memory may be full of the cache that the user needs.
    cached = result.persist(StorageLevel.DISK_ONLY)
    try:
        yield cached
    finally:
        # If the session was stopped, this fails, and would hide the error of the query.
        with contextlib.suppress(Exception):
            cached.unpersist()


def _operators(plan: str) -> Iterable[str]:
    """Yield the names of the operators of a printed plan, without those below a cache."""
    cached: int | None = None
    for line in plan.splitlines():
        found = _OPERATOR.match(line)
        if found is None:
            continue
        depth = len(found[1])
        if cached is not None and depth > cached:
            continue
        cached = depth if found[2] in _CACHED else None
        yield found[2]
