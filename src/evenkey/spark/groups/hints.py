"""Inspect a user's function as Spark does: its number of arguments, and its type hints."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas import typehints
from pyspark.util import PythonEvalType

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def arguments_of(function: Any, allowed: Sequence[int]) -> int:
    """Return the number of arguments that a function takes, and check that it is allowed.

    Raises
    ------
    ConfigurationError
        `function` is not a function, or takes another number of arguments.
    """
    numbers = " or ".join(map(str, allowed))
    if not callable(function):
        message = f"func = {shown(function)}: must be a function of {numbers} arguments"
        raise ConfigurationError(message)
    count = len(inspect.getfullargspec(function).args)
    if count not in allowed:
        name = getattr(function, "__name__", shown(function))
        message = (
            f"func = {name}: it takes {count} arguments and must take {numbers}: the rows, or "
            "the key and the rows"
        )
        raise ConfigurationError(message)
    return count


def takes_pieces(function: Any, *, arrow: bool) -> bool:
    """Return whether a function takes an iterator over pieces of its rows, by its type hints.

    If the hints cannot be read, this warns as Spark does, and returns False: the function then
    takes all rows together.
    """
    infer: Any = typehints.infer_group_pandas_eval_type_from_func
    kind: int = PythonEvalType.SQL_GROUPED_MAP_PANDAS_ITER_UDF
    if arrow:
        infer = typehints.infer_group_arrow_eval_type_from_func
        kind = PythonEvalType.SQL_GROUPED_MAP_ARROW_ITER_UDF
    try:
        return bool(infer(function) == kind)
    except Exception as error:  # noqa: BLE001 - it may raise any error, and Spark continues too
        message = f"Cannot infer the eval type from type hints: {error}"
        warnings.warn(message, UserWarning, stacklevel=4)
        return False


def labelled(
    call: Callable[..., Any], function: Any, *, pieces: bool, arrow: bool
) -> Callable[..., Any]:
    """Give evenkey's wrapper the type hints and the name that Spark reads."""
    rows: Any
    if arrow:
        import pyarrow as pa

        rows = Iterator[pa.RecordBatch] if pieces else pa.Table
    else:
        import pandas as pd

        rows = Iterator[pd.DataFrame] if pieces else pd.DataFrame
    call.__annotations__ = {"key": tuple[Any, ...], "rows": rows, "return": rows}
    return named(call, function)


def named(call: Callable[..., Any], function: Any) -> Callable[..., Any]:
    """Give evenkey's wrapper the name of the user's function, which Spark's plans show."""
    call.__name__ = getattr(function, "__name__", type(function).__name__)
    return call
