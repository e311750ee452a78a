"""Python sources: registered with Spark, and readers that end quietly with their query."""

from __future__ import annotations

import os
import sys
import traceback
import uuid
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource


def register(spark: SparkSession, source: type[DataSource]) -> str:
    """Register a source and give the name to read it by.

    The name is a new one each time: Spark 4.3 refuses a name that any session of the process
    has registered, but finds it only in the session that did.
    """
    name = f"{source.name()}-{uuid.uuid4().hex}"
    named = type(source.__name__, (source,), {"name": classmethod(lambda _: name)})
    spark.dataSource.register(named)
    return name


class QuietReader(DataSourceStreamReader):
    """A reader whose process ends without a word when Java closes its connection.

    A query that is stopped may be waiting for its reader: its thread is interrupted, which closes
    the connection. Spark's process of the reader then fails to send an answer, fails to send that
    error, and prints a trace of both.
    """

    def stop(self) -> None:
        """End the process, where what ends the reader is that nobody listens to it any more."""
        if _java_has_left(sys.exception()):
            os._exit(0)


def _java_has_left(error: BaseException | None) -> bool:
    """Whether an error is of Spark's own connection, and not one that a reader has raised."""
    if not isinstance(error, EOFError | ConnectionError):
        return False
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return not any(frame.f_globals.get("__name__", "").startswith("evenkey.") for frame in frames)
