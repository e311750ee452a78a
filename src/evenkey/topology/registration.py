"""Registering Python data sources with Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

__all__ = ["register"]


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Make a source known to a session, whether or not the session it came from knows it."""
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
