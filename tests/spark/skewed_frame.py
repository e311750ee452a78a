"""A DataFrame with key columns of many types, each of them skewed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def skewed_frame(spark: SparkSession, rows: int) -> DataFrame:
    """Make a DataFrame: in each column most rows have one key, some null; some doubles are NaN."""
    number = F.when(F.col("id") % 5 < 3, 0).otherwise(F.pmod(F.xxhash64("id"), F.lit(40)))
    made = spark.range(0, rows, 1, 2).withColumn("n", number)
    some = F.col("n") % 9 != 4
    double = (
        F.when(F.col("id") % 6 == 0, F.lit(-0.0))
        .when(F.col("n") % 5 == 3, F.lit(float("nan")))
        .otherwise(F.col("n") / 8)
    )
    text = F.concat(F.lit("Zoë 名前 "), (F.col("n") % 12).cast("string"))
    seconds = F.col("n") * 1800 + 1_761_400_000  # includes the end of daylight saving time
    return made.select(
        "id",
        F.when(some, text).alias("text"),
        F.when(some, double).alias("double"),
        F.when(some, F.col("n").cast("decimal(20,3)") / 7).cast("decimal(20,3)").alias("decimal"),
        F.timestamp_seconds(seconds).alias("time"),
        F.when(some, F.timestamp_seconds(seconds).cast("timestamp_ntz")).alias("local time"),
        F.when(some, F.date_from_unix_date(F.col("n").cast("int") * 97)).alias("date"),
        F.when(
            F.col("n") % 11 != 2,
            F.struct(F.when(some, F.col("n") % 4).alias("a"), text.alias("b")),
        ).alias("struct"),
        F.lit(17).alias("one"),
        F.when(some, F.encode(text, "UTF-8")).alias("bytes"),
        F.when(F.col("id") % 3 == 0, "a")
        .otherwise("A")
        .cast("string collate UTF8_LCASE")
        .alias("collated"),
        F.array(F.col("n") % 3, F.lit(None)).alias("list"),
        F.create_map(F.lit("k"), F.col("n") % 3).alias("map"),
    )


def text_of(key: object) -> str:
    """Return a key with its types as text; -0.0 becomes 0.0, since Spark may return either."""
    return repr(key).replace("-0.0", "0.0")
