"""A call of a method of PySpark that shuffles by key, with what is needed to run it differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class InterceptedCall:
    """A call that shuffles by key, before it runs.

    Parameters
    ----------
    kind
        ``group``: a function on the rows of each key; ``cogroup``: the same on two DataFrames;
        ``join``; ``write``: files by the value of columns.
    method
        Name of PySpark's method, such as ``applyInPandas``.
    frames
        The inputs: one DataFrame, or two.
    keys
        For each input, its keys as the user passed them. For a join, the argument `on`, once.
    how
        Kind of join, as the user passed it; empty for other calls.
    spark
        Takes DataFrames in place of `frames`, and runs Spark's own method on them.
    run
        The same, but passes the call to other open interceptions first. All handlers except the
        first one use this to run Spark's method.
    """

    kind: Literal["group", "cogroup", "join", "write"]
    method: str
    frames: tuple[DataFrame, ...]
    keys: tuple[Any, ...]
    how: str
    spark: Callable[..., Any]
    run: Callable[..., Any]
