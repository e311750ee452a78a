"""Run the user's function on the joined rows of a partition, in the joining task."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyspark.errors import ParseException
from pyspark.sql.types import StructType

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.sessions import to_arrow_schema

if TYPE_CHECKING:
    from types import TracebackType

_Rows: TypeAlias = pa.Table | pa.RecordBatch

Then: TypeAlias = Callable[[pa.Table], _Rows | Iterable[_Rows]]
"""Function that takes joined rows and returns rows of another schema as a table or a batch, or
yields several tables or batches."""


class Following:
    """Applies the user's function to joined rows, and checks what it returns.

    Parameters
    ----------
    function
        The user's function, which is called for each piece of joined rows of a partition.
    schema
        Schema of the rows that the function must return. The function may return the columns in
        another order.
    """

    def __init__(self, function: Then, schema: pa.Schema) -> None:
        self._function = function
        self._schema = schema

    def __call__(self, joined: pa.Table) -> Iterator[pa.Table]:
        """Apply the function to a piece of joined rows.

        Raises
        ------
        RunError
            The function raises an error, or returns something that does not match the schema.
        """
        for given in self._given(joined):
            yield self._checked(given)

    def _given(self, joined: pa.Table) -> Iterator[object]:
        try:
            given = self._function(joined)
            if isinstance(given, pa.Table | pa.RecordBatch) or not isinstance(given, Iterable):
                yield given
            else:
                yield from given
        except Exception as error:
            message = (
                f"then: the function raised {type(error).__name__}: {error}"
                f"{_place(error.__traceback__)}"
            )
            raise RunError(message) from error

    def _checked(self, given: object) -> pa.Table:
        if isinstance(given, pa.RecordBatch):
            given = pa.Table.from_batches([given])
        if not isinstance(given, pa.Table):
            message = (
                f"then: the function returned {type(given).__name__}: it must return a pyarrow "
                "Table or RecordBatch, or yield several"
            )
            raise RunError(message)
        wanted = self._schema.names
        if sorted(given.column_names) != sorted(wanted):
            message = (
                f"then: the function returned columns {', '.join(given.column_names)}; schema has "
                f"{', '.join(wanted)}"
            )
            raise RunError(message)
        columns = [self._cast(given[field.name], field) for field in self._schema]
        return pa.Table.from_arrays(columns, schema=self._schema)

    @staticmethod
    def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        if column.null_count and not field.nullable:
            message = (
                f"then: column {field.name!r} has nulls, which schema does not allow; fill them, "
                "or change schema"
            )
            raise RunError(message)
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = (
                f"then: column {field.name!r} is {column.type}, schema has {field.type}, and it "
                f"cannot be cast ({error})"
            )
            raise RunError(message) from error


def _place(raised: TracebackType | None) -> str:
    """Return the line of the user's function that raised an error."""
    frames = [each for each in traceback.extract_tb(raised) if each.filename != __file__]
    if not frames:
        return ""
    first = frames[0]
    return f" (file {first.filename}, line {first.lineno}, in {first.name}: {first.line})"


def following(
    then: Then | None, schema: StructType | str | None, joined: StructType, timezone: str
) -> tuple[Following | None, StructType]:
    """Check `then` and `schema`; return the function to apply and the schema of the result.

    Parameters
    ----------
    then, schema
        As for `balanced_join`.
    joined
        Schema of the joined rows.
    timezone
        Time zone of the session, for timestamps in Arrow.

    Raises
    ------
    ConfigurationError
        `schema` is passed without `then` or cannot be read, or `then` is not a function.
    """
    if then is None:
        if schema is not None:
            message = "schema is given without then: pass then too, or leave out schema"
            raise ConfigurationError(message)
        return None, joined
    if not callable(then):
        message = f"then = {then!r}: must be a function that takes a pyarrow Table"
        raise ConfigurationError(message)
    result = joined if schema is None else _parsed(schema)
    return Following(then, to_arrow_schema(result, timezone=timezone)), result


def _parsed(schema: StructType | str) -> StructType:
    if isinstance(schema, StructType):
        return schema
    try:
        parsed = StructType.fromDDL(schema)
    except ParseException:
        parsed = None
    if not isinstance(parsed, StructType):
        message = (
            f"schema = {schema!r}: must list columns with their types, such as 'user string, total "
            "bigint'"
        )
        raise ConfigurationError(message)
    return parsed
