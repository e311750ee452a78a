"""Enrich clicks by a join, then work on the clicks of each region."""

import json
import sys
import time
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession


def summary(key, rows):
    time.sleep(0.004 * len(rows))
    return pd.DataFrame({"region": [key[0]], "clicks": [len(rows)], "last": [rows["click"].max()]})


def pages(spark):
    return spark.range(1_000).selectExpr("id as page", "if(id < 12, id, 20 + id % 700) as region")


def clicks(spark):
    return spark.range(16_000).selectExpr(
        "if(id % 2 = 0, (id div 2) % 12, 12 + id % 900) as page", "id as click"
    )


spark = SparkSession.builder.appName("regions").getOrCreate()
enriched = clicks(spark).join(pages(spark), "page", "left")
by_region = enriched.groupBy("region").applyInPandas(
    summary, schema="region long, clicks long, last long"
)
Path(sys.argv[1]).write_text(json.dumps(sorted(map(tuple, by_region.collect()))))
