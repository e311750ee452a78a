"""A user's stream, joined with a batch, for a test to kill: ``python -m ... DIRECTORY``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.core.streams import generated
from evenkey.spark.sessions.starting import session
from tests.spark import oracle

NAME, MESSAGES, EPOCHS, WORKERS = "country-skew-r80", 18_000, 6, 5
_WORK_SECONDS = 1.5


def main(directory: Path) -> None:
    """Write the pairs and workers of each epoch to a separate directory, after slow work."""
    spark = session("local[2]", {"spark.sql.autoBroadcastJoinThreshold": "-1"})
    stream = generated(NAME, messages=MESSAGES)
    df = oracle.streaming(spark, stream, directory, epochs=EPOCHS)
    texts = stream.texts(stream.batch(0, MESSAGES).ids).to_pylist()
    static = spark.createDataFrame(
        [(key, side) for key in {*texts} for side in "ab"], "key string, side string"
    )
    state = directory / "state"
    joined = operators.join(df, static, "key", "inner", WORKERS, state=state / "tables")
    joined = joined.select("key", "side", F.spark_partition_id().alias("worker"))

    def write(batch, epoch):
        time.sleep(_WORK_SECONDS)
        batch.write.mode("overwrite").parquet(str(directory / "rows" / f"epoch={epoch}"))

    query = (
        joined.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(state / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
