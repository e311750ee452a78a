"""The number of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from evenkey.aggregators.base import Algebraic, Merge
from evenkey.aggregators.groups import reduce_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Count(Algebraic):
    """The number of messages, like Spark's ``count(1)``.

    State and result are one int64 column, ``count``. The count is exact.

    Examples
    --------
    >>> import pyarrow as pa
    >>> messages = pa.table({"key": ["a", "b", "a", "a"]})
    >>> Count().partial(messages, by=["key"]).to_pylist()
    [{'key': 'a', 'count': 3}, {'key': 'b', 'count': 1}]
    """

    name: ClassVar[str] = "count"

    @property
    def state(self) -> pa.Schema:
        """One int64 column, ``count``."""
        return pa.schema([("count", pa.int64())])

    @property
    def result(self) -> pa.Schema:
        """One int64 column, ``count``."""
        return self.state

    @property
    def merges(self) -> Mapping[str, Merge]:
        """Counts merge by ``sum``."""
        return {"count": "sum"}

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Count the messages of each group."""
        return reduce_groups(messages, by, {"count": ("key", "messages")})
