"""Read results from a topic without duplicates."""

from __future__ import annotations

import functools
import operator
import warnings
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from evenkey.aggregators import parse as parse_aggregator
from evenkey.core.streams import read_names, read_types
from evenkey.kafka.admin import Admin
from evenkey.kafka.client import ClientSettings
from evenkey.kafka.connector import check_loaded
from evenkey.kafka.topic_address import Address
from evenkey.spark.sessions import from_arrow_schema, from_arrow_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.aggregators import Aggregator
    from evenkey.kafka.client import Isolation

_WINDOW = ("window_start", "window_end")
_BROKEN = "evenkey: not JSON"
"""Column with the text of a value that cannot be parsed."""


def read_topic(
    spark: SparkSession,
    address: str,
    aggregator: str | Aggregator = "count",
    *,
    key: str = "key",
    types: str | None = None,
    settings: ClientSettings | None = None,
    isolation: Isolation = "read_committed",
) -> DataFrame:
    """Read the results that a pipeline wrote to a topic, without duplicates.

    Spark writes to Kafka at least once: an interrupted epoch runs again and writes its rows again.
    The key of a record consists of the window and the key of a result, so the record's key
    identifies the result. A run computes each result once, so duplicates are identical.

    Parameters
    ----------
    spark
        The session, which needs Spark's Kafka connector.
    address
        ``SERVERS/TOPIC``, as for ``evenkey run --output-kafka``.
    aggregator
        The pipeline's aggregator.
    key
        Names of the key columns, as for ``evenkey run --key``; ``"key"`` if the input has no
        columns.
    types
        Types of the aggregator's columns and of key columns that are not text, as for
        ``evenkey run --types``; None: there are no such columns.
    settings
        Settings of the client, such as `ClientSettings.read` returns; None: the defaults.
    isolation
        ``"read_committed"`` skips records of open and aborted transactions, and all records after
        an open transaction. evenkey warns if there is an open transaction. ``"read_uncommitted"``
        reads all records.

    Returns
    -------
    DataFrame
        A batch DataFrame with the columns ``window_start``, ``window_end``, the key columns under
        their own names, and the aggregator's columns. The rows are in no particular order.

    Raises
    ------
    ConfigurationError
        The address is invalid, or Spark has no Kafka connector. Spark raises an error while it
        computes the rows if a window and key have two different results, because two runs wrote
        to the topic, or if a record is no result.

    Examples
    --------
    >>> counts = read_topic(spark, "127.0.0.1:9092/counts", key="user")  # doctest: +SKIP
    >>> counts.columns  # doctest: +SKIP
    ['window_start', 'window_end', 'user', 'count']
    """
    place = Address.parse(address)
    check_loaded(spark)
    settings = settings or ClientSettings()
    options = settings.for_reading(isolation)
    if isolation == "read_committed":
        _warn_of_transactions(spark, place, settings)
    records = (
        spark.read.format("kafka")
        .options(**options)
        .option("kafka.bootstrap.servers", place.servers)
        .option("subscribe", place.topic)
        .load()
    )
    differ = F.concat(
        F.lit(f"topic {place.topic!r} has different results of "),
        F.decode("key", "UTF-8"),
        F.lit(": several runs wrote to it; read a topic that one run wrote"),
    )
    same = F.min("value") == F.max("value")
    value = F.when(same, F.min("value")).otherwise(F.raise_error(differ).cast("binary"))
    once = records.groupBy("key").agg(value.alias("value"))
    schema = _schema(
        parse_aggregator(aggregator), read_names(key), read_types(types) if types else {}
    )
    return once.select(_result(F.col("value"), schema, place.topic).alias("row")).select("row.*")


def _result(value: Column, schema: StructType, topic: str) -> Column:
    """Parse the value of a record; a record that is no result fails the task that computes it."""
    parsed = F.from_json(
        value.cast("string"),
        StructType([*schema.fields, StructField(_BROKEN, StringType())]),
        {"columnNameOfCorruptRecord": _BROKEN},
    )
    message = (
        f"topic {topic!r} has a record that is no result of such a run: read a topic that only "
        "runs with this aggregator and key write to"
    )
    fields = [parsed.getField(each.name) for each in schema.fields]
    empty = functools.reduce(operator.and_, (each.isNull() for each in fields))
    foreign = parsed.getField(_BROKEN).isNotNull() | empty
    return F.when(foreign, F.raise_error(F.lit(message)).cast(schema)).otherwise(
        F.struct(*(each.alias(of.name) for each, of in zip(fields, schema.fields, strict=True)))
    )


def _warn_of_transactions(spark: SparkSession, place: Address, settings: ClientSettings) -> None:
    """Warn of open transactions, because records after an open transaction are not read."""
    with Admin.open(spark, place, settings) as admin:
        topics = admin.existing_topics(place.topics)
        partitions = {place.topic: topics[place.topic].partitions}
        stable = admin.offsets(partitions, "stable")[place.topic]
        latest = admin.offsets(partitions, "latest")[place.topic]
    held = [number for number, end in latest.items() if stable[number] < end]
    if held:
        message = (
            f"topic {place.topic!r} has open transactions in partitions "
            f"{', '.join(map(str, held))}: later records are not read; wait until they end, or "
            "pass isolation='read_uncommitted'"
        )
        warnings.warn(message, UserWarning, stacklevel=3)


def _schema(
    aggregator: Aggregator, keys: Sequence[str], types: Mapping[str, pa.DataType]
) -> StructType:
    """Return the columns of a pipeline's results with their types."""
    own = [(name, kind) for name, kind in types.items() if name in aggregator.columns]
    messages = dict([("key", pa.string()), ("count", pa.int64()), *own])
    bound = aggregator.bind(pa.schema(list(messages.items())))
    fields = [StructField(name, TimestampType()) for name in _WINDOW]
    key = [StructField(each, from_arrow_type(types.get(each, pa.string()))) for each in keys]
    fields += key if bound.scope == "key" else []
    for field in from_arrow_schema(bound.result).fields:
        fields += key if field.name == "key" else [field]
    return StructType(fields)
