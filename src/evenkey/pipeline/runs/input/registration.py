"""Registering Python data sources with Spark."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

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
