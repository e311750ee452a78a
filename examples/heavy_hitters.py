"""Find the most frequent keys of a skewed stream in little memory, with error bounds.

python examples/heavy_hitters.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.applications import heavy_hitters
from evenkey.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def requests(spark: SparkSession, rows: int) -> DataFrame:
    """Make requests of users: the frequency of user n is about proportional to 1 / n."""
    chance = F.pmod(F.xxhash64("id"), F.lit(1 << 20)) / float(1 << 20)
    user = F.pow(F.lit(float(rows)), chance).cast("bigint")
    return spark.range(rows).select(F.concat(F.lit("user "), user).alias("user"))


def main(rows: int = 200_000) -> None:
    """Print the five most frequent users, by evenkey and by Spark's own sketch."""
    frame = requests(session(), rows)
    # Each worker has 50 counters for 200,000 users. `pkg` puts a key on at most two workers, so
    # that its error is the sum of at most two workers' errors.
    found = heavy_hitters(frame, "user", k=5, capacity=50, grouping="pkg", workers=8)
    for row in found.orderBy("rank").collect():
        least = row["count"] - row["error"]
        print(f"{row['user']:10s} {least} to {row['count']} requests, {row['terms']} error terms")
    theirs = heavy_hitters(frame, "user", k=5, capacity=50, through="spark")
    for row in theirs.orderBy("rank").collect():
        print(f"{row['user']:10s} about {row['count']} requests")


if __name__ == "__main__":
    main()
