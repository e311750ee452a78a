"""Run the user's function on the joined rows of a partition, in the joining task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from evenkey.core.errors import ConfigurationError
from evenkey.spark.sessions import to_arrow_schema
from evenkey.spark.slots import ReturnedTables, explained, parsed_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_Rows: TypeAlias = pa.Table | pa.RecordBatch

Then: TypeAlias = Callable[[pa.Table], _Rows | Iterable[_Rows]]
"""Function that takes joined rows and returns rows of another schema as a table or a batch, or
yields several tables or batches."""
_EXPECTED = "a pyarrow Table or RecordBatch, or yield several"


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
        self._returned = ReturnedTables("then", "schema", schema, _EXPECTED)

    def __call__(self, joined: pa.Table) -> Iterator[pa.Table]:
        """Apply the function to a piece of joined rows.

        Raises
        ------
        RunError
            The function raises an error, or returns something that does not match the schema.
        """
        for given in self._given(joined):
            yield self._returned.checked(given)

    def _given(self, joined: pa.Table) -> Iterator[object]:
        with explained("then"):
            given = self._function(joined)
            if isinstance(given, pa.Table | pa.RecordBatch) or not isinstance(given, Iterable):
                yield given
            else:
                yield from given


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
    result = joined if schema is None else parsed_schema("schema", schema)
    return Following(then, to_arrow_schema(result, timezone=timezone)), result
