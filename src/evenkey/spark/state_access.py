"""Where state may be touched: on the driver, or over Connect, whose client sees none, in a task."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from evenkey.errors import EvenkeyError
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
    EvenkeyError, OSError
        What the function raised. Of any other error of a task Spark's own report is raised.
    """
    if not is_remote(session):
        return function()
    task = in_workers(session, _Once(function))
    cell = session.range(0, 1, 1, 1).mapInArrow(task, "result binary").toArrow()[0][0].as_py()
    result: Any = pickle.loads(cell)  # noqa: S301 - our own task's
    if isinstance(result, _Raised):
        raise result.error
    returned: Result = result
    return returned


class _Raised:
    """An error that travels as it is, and not as text in one of Spark's."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Once:
    """Runs a function in place of the one row that there is."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                result = self._function()
            except (EvenkeyError, OSError) as error:
                result = _Raised(error)
            cell = pa.array([pickle.dumps(result)], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], names=["result"])
