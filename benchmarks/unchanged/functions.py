"""Score the visits of each user with what is known of the user."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def visits(spark):
    # One user has 40 % of the visits.
    return spark.range(16_000).selectExpr("if(id % 10 < 4, 7, id % 2500) as user", "id as visit")


def users(spark):
    return spark.range(2_500).selectExpr("id as number", "id % 5 as plan")


def scored(batches):
    for rows in batches:
        time.sleep(0.004 * len(rows))
        yield rows.assign(score=rows["visit"] % 11 * rows["plan"])


def main(path):
    spark = SparkSession.builder.appName("visits").getOrCreate()
    left, right = visits(spark), users(spark)
    joined = left.join(right, left.user == right.number).select("visit", "plan")
    scores = joined.mapInPandas(scored, "visit long, plan long, score long")
    totals = scores.groupBy("plan").agg(F.sum("score"), F.count("*")).collect()
    Path(path).write_text(json.dumps(sorted(map(tuple, totals))))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
