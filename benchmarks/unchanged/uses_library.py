"""Smooth the readings of sensors with a library."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from sensors import Pipeline, readings  # type: ignore[import-not-found]

spark = SparkSession.builder.appName("sensors").getOrCreate()
result = Pipeline(readings(spark, 16_000)).valid(30).by_sensor()
Path(sys.argv[1]).write_text(json.dumps(sorted(map(tuple, result.collect()))))
