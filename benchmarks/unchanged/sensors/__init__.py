"""A small library that builds DataFrames for its users."""

import time

import pyarrow as pa
from pyspark.sql import functions as F


def readings(spark, count):
    # Twelve sensors send half of the readings.
    sensor = F.expr("if(id % 2 = 0, (id div 2) % 12, 100 + id % 1800)")
    return spark.range(count).select(sensor.alias("sensor"), (F.col("id") % 31).alias("value"))


def smoothed(table):
    time.sleep(0.004 * table.num_rows)
    mean = sum(table["value"].to_pylist()) // table.num_rows
    return pa.table({"sensor": table["sensor"][:1], "mean": [mean], "count": [table.num_rows]})


class Pipeline:
    def __init__(self, frame):
        self._frame = frame

    def valid(self, most):
        return Pipeline(self._frame.where(F.col("value") < most))

    def by_sensor(self):
        schema = "sensor long, mean long, count long"
        return self._frame.groupby(F.col("sensor")).applyInArrow(smoothed, schema)
