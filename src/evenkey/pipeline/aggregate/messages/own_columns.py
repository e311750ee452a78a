"""The user's own columns: their names in messages and in results."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from evenkey.core.streams import EVENT_TIME, value_name
from evenkey.pipeline.aggregate.messages.readings import RowsReading
from evenkey.spark.keys import quoted
from evenkey.spark.sessions import from_arrow_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from evenkey.pipeline.aggregate.config import PipelineConfig
    from evenkey.pipeline.aggregate.messages.kept import FoundInput

_KEY = "key"
_TYPES = "evenkey.types"


class Own(NamedTuple):
    """The columns of messages besides key, weight and worker.

    Parameters
    ----------
    time
        The column with the time that determines a message's window.
    values
        The columns that the aggregator reads, by their names in the aggregator.
    """

    time: Column
    values: dict[str, Column]

    @classmethod
    def of(cls, messages: DataFrame, config: PipelineConfig) -> Own:
        """Find the columns in the messages of an input."""
        values = {name: F.col(value_name(number)) for number, name in enumerate(config.value_names)}
        return cls(F.col(EVENT_TIME if EVENT_TIME in messages.columns else "time"), values)


def described(messages: DataFrame, config: PipelineConfig, found: FoundInput) -> DataFrame:
    """Store the types of the user's key columns as metadata of ``key``, for `with_own_keys`.

    Inside a run a key is always one string: it is routed, counted and shown as a string.
    """
    types = ["string"] * len(config.key_names)
    if isinstance(found.reading, RowsReading):
        kinds = found.reading.index.key_types
        types = [from_arrow_type(kind).simpleString() for kind in kinds]
    return messages.withMetadata(_KEY, {_TYPES: types})


def with_own_keys(results: DataFrame, messages: DataFrame, config: PipelineConfig) -> DataFrame:
    """Restore the names and types of the user's key columns in results.

    Parameters
    ----------
    results
        Results, with or without a column ``key``.
    messages
        The result of `described`.
    config
        The configuration, which has the names of the key columns.
    """
    names = config.key_names
    types = messages.schema[_KEY].metadata[_TYPES]
    key = F.col(_KEY)
    parts = [key]
    if len(names) > 1:
        whole = F.from_json(key, "array<string>")
        parts = [whole.getItem(number) for number in range(len(names))]
    columns: list[Column] = []
    for column in results.columns:
        if column != _KEY:
            columns.append(quoted(column))
            continue
        for name, part, kind in zip(names, parts, types, strict=True):
            columns.append(part.cast(kind).alias(name))
    return results.select(*columns)
