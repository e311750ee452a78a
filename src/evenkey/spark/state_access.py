"""Where state may be touched: on the driver, or over Connect, where there is none, in a task."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, TypeVar, cast

import pyarrow as pa

from evenkey.errors import EvenkeyError
from evenkey.spark.workers import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

Result = TypeVar("Result")


def at_state(session: SparkSession, function: Callable[[], Result]) -> Result:
    """Run a function where state may be touched, and give back what it returned.

    That is here, on the driver, in a classic session; over Connect it is one task.

    Parameters
    ----------
    session
        Whose work keeps the state.
    function
        Of no arguments; over Connect it and what it returns are pickled.

    Raises
    ------
    EvenkeyError
        The function raised it, here or there.
    """
    if hasattr(session, "_jsparkSession"):
        return function()
    task = in_workers(session, _Once(function))
    (cell,) = session.range(0, 1, 1, 1).mapInArrow(task, "outcome binary").collect()
    outcome = pickle.loads(cell.outcome)  # noqa: S301 - what the task below has pickled
    if isinstance(outcome, EvenkeyError):
        raise outcome
    return cast("Result", outcome)


class _Once:
    """Runs a function in place of the one row that is there."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                outcome = self._function()
            except EvenkeyError as error:
                # Raised in a task, it would come back as a page of Spark's own words.
                outcome = error
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)])], ["outcome"])
