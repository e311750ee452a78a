"""A call of a method of PySpark that shuffles by key, with what is needed to run it differently."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame


class Described(NamedTuple):
    """The fingerprint of a call, and its parts for people.

    Parameters
    ----------
    fingerprint
        16 hexadecimal digits.
    operator
        What was called, such as ``applyInPandas(typical)`` or ``join left``.
    keys
        Expressions of the key: one text for each input, or the condition of a join.
    reads
        The tables, paths and other relations that are read.
    """

    fingerprint: str
    operator: str
    keys: tuple[str, ...]
    reads: tuple[str, ...]


class Repartitioned(NamedTuple):
    """How a DataFrame was made by ``repartition``.

    Parameters
    ----------
    frame
        The rows that were repartitioned.
    number
        Number of partitions that the user passed; None: only columns.
    columns
        Columns that the user passed.
    """

    frame: DataFrame
    number: int | None
    columns: tuple[Any, ...]

    @classmethod
    def of(cls, frame: DataFrame, arguments: tuple[Any, ...]) -> Repartitioned:
        """Return what ``frame.repartition(*arguments)`` made."""
        first, *others = arguments
        if not isinstance(first, int):
            return cls(frame, None, arguments)
        if len(others) == 1 and isinstance(others[0], list):
            (others,) = others
        return cls(frame, first, tuple(others))


@dataclass(frozen=True)
class InterceptedCall:
    """A call that shuffles by key, before it runs.

    Parameters
    ----------
    kind
        ``group``: a function on the rows of each key; ``cogroup``: the same on two DataFrames;
        ``join``; ``write``: files by the value of columns; ``window``: functions on the rows of
        each key, in a column or a SQL text.
    method
        Name of PySpark's method, such as ``applyInPandas``; ``sql`` for a join in a text;
        ``Window`` for a window.
    frames
        The inputs: one DataFrame, or two.
    keys
        For each input, its keys as the user passed them. For a join, the argument `on`, once.
    how
        Kind of join, as the user passed it; empty for other calls.
    spark
        Takes DataFrames in place of `frames`, and runs Spark's own method on them. For a window, a
        further column of the DataFrame becomes one more key.
    run
        The same, but passes the call to other open interceptions first. All handlers except the
        first one use this to run Spark's method.
    arguments, named
        Arguments of the method of groups and cogroups.
    repartitioned
        For a write: how its input was made, if by ``repartition``.
    described
        For a window, and a join in the text of ``sql``: its fingerprint. None: `describe` computes
        it.
    when_used
        For the same: takes a function to call if the result of the call is part of the result that
        the user gets. None: the user gets what a handler returns.
    """

    kind: Literal["group", "cogroup", "join", "write", "window"]
    method: str
    frames: tuple[DataFrame, ...]
    keys: tuple[Any, ...]
    how: str
    spark: Callable[..., Any]
    run: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)
    repartitioned: Repartitioned | None = None
    described: Described | None = None
    when_used: Callable[[Callable[[], object]], object] | None = None

    @property
    def is_last(self) -> bool:
        """Whether no other interception waits for the call."""
        return self.run is self.spark
