"""Read the state of an old query with Spark's own state source."""

from __future__ import annotations

import contextlib
import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, FractionalType, NumericType

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.groups.exchange import SPLIT
from evenkey.spark.keys.given_columns import OWN, quoted, unlogged_errors
from evenkey.spark.moves.initial_rows import COLUMNS
from evenkey.spark.moves.moved_state import Variable
from evenkey.spark.moves.restoring import TIMER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

_KINDS = {"ValueState": "value", "ListState": "list", "MapState": "map"}
_TIMERS = "TimerState"
_OURS = ("transformWithStateInPandasExec", "transformWithStateInPySparkExec")
"""Names of the operators, as Spark keeps them in a checkpoint."""
_OLDER = "applyInPandasWithState"


@dataclass(frozen=True)
class Operator:
    """The operator with state of a query.

    Parameters
    ----------
    partitions
        Number of state partitions.
    time_mode
        Its ``timeMode``.
    kinds
        Kind of each state variable, by its name.
    timers
        Whether it may have timers.
    """

    partitions: int
    time_mode: str
    kinds: dict[str, str]
    timers: bool


@dataclass(frozen=True)
class OldState:
    """The state of a query after a batch.

    Parameters
    ----------
    rows
        One row for each value, list, map entry and timer of a key; `initial_rows.COLUMNS` names the
        columns.
    variables
        The state variables; the number of a variable is its position.
    keys
        Names of the key columns in results; empty if they cannot be known.
    key_types
        Types of the key columns.
    """

    rows: DataFrame
    variables: tuple[Variable, ...]
    keys: tuple[str, ...]
    key_types: tuple[str, ...]


def read_operator(session: SparkSession, checkpoint: str) -> Operator:
    """Find the operator with state of a query.

    Raises
    ------
    ConfigurationError
        The query has no such operator, or one whose state cannot be moved.
    RunError
        Spark cannot read the checkpoint.
    """
    with naming(f"the operators in checkpoint {checkpoint}"):
        found = session.read.format("state-metadata").load(checkpoint).collect()
    names = {row["operatorId"]: row["operatorName"] for row in found}
    if _OLDER in names.values():
        message = (
            f"checkpoint {checkpoint}: {_OLDER} has no initial state in Spark; once, start "
            "transformWithStateInPandas with initialState= the rows of "
            "spark.read.format('statestore').load(CHECKPOINT), which handleInitialState keeps: "
            "from then on rebalance moves that query"
        )
        raise ConfigurationError(message)
    if len(names) != 1 or not {*names.values()} <= {*_OURS}:
        has = ", ".join(sorted(names.values())) or "no operator with state"
        message = (
            f"checkpoint {checkpoint}: the query has {has}, and rebalance moves a query with one "
            "operator with state, transformWithStateInPandas or transformWithState in Python"
        )
        raise ConfigurationError(message)
    properties = json.loads(found[0]["operatorProperties"])
    variables = properties["stateVariables"]
    expiring = [each["stateName"] for each in variables if each["ttlEnabled"]]
    if expiring:
        message = (
            f"checkpoint {checkpoint}: state variable {expiring[0]!r} has a time to live, which "
            "Spark counts from the last write, so that its values would live longer in the new "
            "query: keep the time in the value and use a timer instead"
        )
        raise ConfigurationError(message)
    kinds = {
        each["stateName"]: _KINDS[each["stateVariableType"]]
        for each in variables
        if each["stateVariableType"] in _KINDS
    }
    timers = any(each["stateVariableType"] == _TIMERS for each in variables)
    if not kinds:
        message = f"checkpoint {checkpoint}: the query has no state variables; start a new query"
        raise ConfigurationError(message)
    return Operator(found[0]["numPartitions"], str(properties["timeMode"]), kinds, timers)


def read_state(session: SparkSession, checkpoint: str, batch: int, operator: Operator) -> OldState:
    """Read the state of a query after a batch.

    Raises
    ------
    RunError
        Spark cannot read the state.
    """

    def source() -> DataFrameReader:
        return session.read.format("statestore").option("batchId", batch)

    parts = []
    variables = []
    with naming(f"the state after batch {batch} in checkpoint {checkpoint}"):
        for number, (name, kind) in enumerate(operator.kinds.items()):
            rows = source().option("stateVarName", name)
            # A list comes as one value, because only so its order is known.
            df = rows.option("flattenCollectionTypes", kind == "map").load(checkpoint)
            content, types = _content(df.schema, kind)
            variables.append(Variable(name, kind, types))
            parts.append((df, number, {COLUMNS[1].format(number): content}))
        if operator.timers:
            df = source().option("readRegisteredTimers", value=True).load(checkpoint)
            (expiry,) = set(df.columns) - {"key", "partition_id"}
            parts.append((df, TIMER, {COLUMNS[2]: F.col(expiry)}))
    schema: StructType = parts[0][0].schema["key"].dataType  # type: ignore[assignment]
    fields = [field for field in schema if field.name != SPLIT]
    keys = [
        F.col("key").getField(field.name).alias(COLUMNS[3].format(number))
        for number, field in enumerate(fields)
    ]
    selected = [
        df.select(
            *keys,
            F.lit(number).alias(COLUMNS[0]),
            *(column.alias(name) for name, column in content.items()),
        )
        for df, number, content in parts
    ]
    if not operator.timers:
        selected[0] = selected[0].withColumn(COLUMNS[2], F.lit(None).cast("long"))
    union = functools.partial(DataFrame.unionByName, allowMissingColumns=True)
    names = tuple(field.name for field in fields)
    known = not any(name.startswith(OWN) for name in names)
    types = tuple(field.dataType.simpleString() for field in fields)
    return OldState(
        functools.reduce(union, selected), tuple(variables), names if known else (), types
    )


def _content(schema: StructType, kind: str) -> tuple[Column, tuple[str, ...]]:
    """Return the column with the content of a variable, and the types of the variable."""
    if kind == "value":
        return F.col("value"), (schema["value"].dataType.simpleString(),)
    if kind == "list":
        element = schema["list_value"].dataType.elementType  # type: ignore[attr-defined]
        return F.col("list_value"), (element.simpleString(),)
    names = ("user_map_key", "user_map_value")
    entry = F.struct(*(F.col(each) for each in names))
    return entry, tuple(schema[each].dataType.simpleString() for each in names)


def unequal_keys(df: DataFrame, names: list[str]) -> Column:
    """Return a condition on rows with a key that is not equal to itself in pandas.

    In pandas a null among numbers is NaN. Spark passes each row of such a key to Python as a group
    of its own, new rows before the initial state.
    """
    found = F.lit(False)  # noqa: FBT003 - a value
    for name in names:
        kind = df.schema[name].dataType
        if isinstance(kind, NumericType) and not isinstance(kind, DecimalType):
            found = found | quoted(name).isNull()
            if isinstance(kind, FractionalType):
                found = found | F.isnan(quoted(name))
    return found


@contextlib.contextmanager
def naming(what: str) -> Iterator[None]:
    """Turn an error of Spark into one line that says what it could not read or write.

    Raises
    ------
    RunError
        Spark raised an error in the ``with`` block.
    """
    try:
        with unlogged_errors():
            yield
    except PySparkException as error:
        says = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = (
            f"Spark cannot read or write {what} ({says.rstrip('.')}): check the checkpoint, and "
            "that this Spark is of the version of the old query or later"
        )
        raise RunError(message) from error
