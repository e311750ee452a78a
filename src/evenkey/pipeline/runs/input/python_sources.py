"""Register Python sources with Spark, and end their reader processes without error output."""

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
    """Register a source and return the name to read it by.

    The name is new each time. Spark 4.3 rejects a name that any session of the process has
    registered, although other sessions cannot use that registration.
    """
    name = f"{source.name()}-{uuid.uuid4().hex}"
    named = type(source.__name__, (source,), {"name": classmethod(lambda _: name)})
    spark.dataSource.register(named)
    return name


class QuietReader(DataSourceStreamReader):
    """A reader whose process ends quietly when Java closes its connection.

    A query may be stopped while it waits for its reader. The interrupted thread then closes the
    connection to the reader's Python process. Without this class, that process would fail to send
    its answer, would fail to report this error to Java, and would print a traceback of both errors.
    """

    def stop(self) -> None:
        """End the process quietly if the connection to Java is closed."""
        if _java_has_left(sys.exception()):
            os._exit(0)


def _java_has_left(error: BaseException | None) -> bool:
    """Return whether an error comes from Spark's own connection, not from evenkey's reader."""
    if not isinstance(error, EOFError | ConnectionError):
        return False
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return not any(frame.f_globals.get("__name__", "").startswith("evenkey.") for frame in frames)
