"""Check what a user's function on Arrow tables returns, and explain its errors."""

from __future__ import annotations

import contextlib
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import ParseException
from pyspark.sql.types import StructType

from evenkey.core.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType


_PACKAGE = str(Path(__file__).parents[2])
"""Folder of evenkey, whose frames are left out of messages."""


class ReturnedTables:
    """Checks that tables which a user's function returned have the declared columns.

    Parameters
    ----------
    function
        Name of the argument with the function, for messages.
    declared
        Name of the argument with the schema, for messages.
    schema
        Schema of the rows that the function must return, in any order of columns.
    expected
        What the function must return, for messages.
    """

    def __init__(self, function: str, declared: str, schema: pa.Schema, expected: str) -> None:
        self._function = function
        self._declared = declared
        self._expected = expected
        self.schema = schema

    def checked(self, given: object) -> pa.Table:
        """Return the rows with the columns of the schema, in its order and its types.

        Raises
        ------
        RunError
            It is no table, has other columns, or has values that the schema does not allow.
        """
        if isinstance(given, pa.RecordBatch):
            given = pa.Table.from_batches([given])
        if not isinstance(given, pa.Table):
            message = (
                f"{self._function}: the function returned {type(given).__name__}: it must return "
                f"{self._expected}"
            )
            raise RunError(message)
        wanted = self.schema.names
        if sorted(given.column_names) != sorted(wanted):
            message = (
                f"{self._function}: the function returned columns {', '.join(given.column_names)}; "
                f"{self._declared} has {', '.join(wanted)}"
            )
            raise RunError(message)
        columns = [self._cast(given[field.name], field) for field in self.schema]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _cast(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        if column.null_count and not field.nullable:
            message = (
                f"{self._function}: column {field.name!r} has nulls, which {self._declared} does "
                f"not allow; fill them, or change {self._declared}"
            )
            raise RunError(message)
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = (
                f"{self._function}: column {field.name!r} is {column.type}, {self._declared} has "
                f"{field.type}, and it cannot be cast ({error})"
            )
            raise RunError(message) from error


@contextlib.contextmanager
def explained(function: str) -> Iterator[None]:
    """Turn an error of a user's function into one line with the place where it was raised.

    Parameters
    ----------
    function
        Name of the argument with the function, for the message.

    Raises
    ------
    RunError
        The function raised an error.
    """
    try:
        yield
    except Exception as error:
        message = (
            f"{function}: the function raised {type(error).__name__}: {error}"
            f"{_place(error.__traceback__)}"
        )
        raise RunError(message) from error


def parsed_schema(name: str, schema: StructType | str) -> StructType:
    """Return a schema that a user passed as a type or as text.

    Raises
    ------
    ConfigurationError
        The text does not list columns with their types. `name` is the argument, for the message.
    """
    if isinstance(schema, StructType):
        return schema
    try:
        parsed = StructType.fromDDL(schema)
    except ParseException:
        parsed = None
    if not isinstance(parsed, StructType):
        message = (
            f"{name} = {schema!r}: must list columns with their types, such as 'user string, total "
            "bigint'"
        )
        raise ConfigurationError(message)
    return parsed


def _place(raised: TracebackType | None) -> str:
    """Return the line of the user's function that raised an error."""
    every = traceback.extract_tb(raised)
    frames = [each for each in every if not each.filename.startswith(_PACKAGE)]
    if not frames:
        return ""
    first = frames[0]
    return f" (file {first.filename}, line {first.lineno}, in {first.name}: {first.line})"
