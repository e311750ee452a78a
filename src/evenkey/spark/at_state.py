"""Where state may be touched: on the driver, or over Connect, whose client sees none, in a task."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from evenkey.spark.workers import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

Result = TypeVar("Result")


def is_remote(session: SparkSession) -> bool:
    """Say whether a session is one over Connect, whose client is not Spark's driver."""
    return not hasattr(session, "_jsparkSession")


def at_state(session: SparkSession, function: Callable[[], Result]) -> Result:
    """Run a function where state may be touched, and give what it returned.

    Parameters
    ----------
    session
        In a classic one the function runs here, on the driver; over Connect in one task.
    function
        Without arguments; it and what it returns can be pickled.

    Raises
    ------
    Exception
        What the function raised; over Connect as Spark reports it.
    """
    if not is_remote(session):
        return function()
    task = in_workers(session, _Once(function))
    row = session.range(0, 1, 1, 1).mapInArrow(task, "result binary").first()
    result: Result = pickle.loads(row["result"])  # noqa: S301 - our own task's
    return result


class _Once:
    """Runs a function in place of the one row that there is."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            result = pickle.dumps(self._function())
            yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], names=["result"])
