"""Parse aggregates that users spell by names of Spark's functions: count, sum, min and max."""

from __future__ import annotations

import re
from typing import NamedTuple

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError

_SPELLING = re.compile(r"(count)|(count|sum|min|max)\((.+)\)", re.DOTALL)
COUNT = {"count": "count"}
"""Default aggregates: one column ``count``, the number of rows."""


class AggregateByName(NamedTuple):
    """An aggregate: name of its result column, Spark's function, and column to aggregate.

    Without a column, the function is ``count``, which counts rows.
    """

    name: str
    function: str
    column: str | None


def parsed_aggregates(aggregates: object) -> list[AggregateByName]:
    """Parse aggregates as users spell them.

    Parameters
    ----------
    aggregates
        Dict from the name of a result column to its aggregate, such as ``"sum(amount)"``.

    Raises
    ------
    ConfigurationError
        `aggregates` is not a dict or is empty, or the spelling of an aggregate is invalid.

    Examples
    --------
    >>> parsed_aggregates({"n": "count", "most": "max(amount)"})[1]
    AggregateByName(name='most', function='max', column='amount')
    """
    if not isinstance(aggregates, dict) or not aggregates:
        message = (
            f"aggregates = {shown(aggregates)}: must be a dict of at least one column; "
            "pass {'count': 'count', 'total': 'sum(amount)'}, for instance"
        )
        raise ConfigurationError(message)
    parsed = []
    for name, spelled in aggregates.items():
        match = _SPELLING.fullmatch(spelled) if isinstance(spelled, str) else None
        if match is None or not isinstance(name, str):
            message = (
                f"aggregates = {shown({name: spelled})}: must be 'count', or count, sum, min or "
                "max of a column by its name; pass {'total': 'sum(amount)'}, for instance"
            )
            raise ConfigurationError(message)
        parsed.append(AggregateByName(name, match[1] or match[2], match[3]))
    return parsed
