"""Python and Spark agree on the hash of a key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.core.hashing import hash_longs, hash_strings

CORNERS = [
    "",
    " ",
    "\0",
    "é",
    "e\u0301",
    "日本語",
    "🎈" * 9,
    "x" * 31,
    "x" * 32,
    "x" * 33,
    "y" * 1000,
]


def spark_hashes(spark, values):
    table = pa.table({"position": range(len(values)), "value": values})
    df = spark.createDataFrame(table).select("position", F.xxhash64("value").alias("hash"))
    return df.toArrow().sort_by("position")["hash"].to_numpy().view(np.uint64)


def test_strings(spark):
    random = np.random.default_rng(0)
    alphabet = np.array(list("abc 0-é日🎈"))
    texts = ["".join(random.choice(alphabet, length)) for length in random.integers(0, 80, 2000)]
    values = pa.array([*CORNERS, *texts, None])
    np.testing.assert_array_equal(hash_strings(values), spark_hashes(spark, values))


def test_longs(spark):
    random = np.random.default_rng(0)
    limits = [np.iinfo(np.int64).min, -1, 0, 1, np.iinfo(np.int64).max]
    numbers = random.integers(limits[0], limits[-1], 2000)
    values = np.concatenate([limits, numbers, numbers % 1000])
    np.testing.assert_array_equal(hash_longs(values), spark_hashes(spark, pa.array(values)))
