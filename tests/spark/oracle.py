"""Streams for the operators, and the results of Python routers on the same messages."""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from evenkey.groupings import parse
from evenkey.pipeline.aggregate.messages.readings import GeneratorReading
from tests.epochs import run_epochs

if TYPE_CHECKING:
    from evenkey.groupings import Snapshot


def skewed(spark, rows, partitions):
    """Make a batch, 5 rows/s: 40 % of the rows of each partition have one key, some have null."""
    number = F.col("id")
    key = (
        F.when(number % 10 < 4, "hot")
        .when(number % 50 == 5, F.lit(None))
        .otherwise(F.concat(F.lit("cold "), F.pmod(F.xxhash64(number), F.lit(97))))
    )
    time = F.timestamp_micros(number % (rows // partitions) * 200_000 + 1_577_836_800_000_000)
    return spark.range(0, rows, 1, partitions).select(
        number, key.alias("key"), (number % 7 - 2).alias("amount"), time.alias("time")
    )


def streaming(spark, stream, directory, *, sources=2, epochs=3, offered=None):
    """Make a streaming DataFrame of a generated stream, with a file per source and epoch.

    It has `epochs` epochs, but only the files of the first `offered` are written; a later call may
    write more.
    """
    spark.conf.set("spark.sql.files.openCostInBytes", str(1 << 40))  # no two files in one task
    place, reading = directory / "input", GeneratorReading(stream)
    place.mkdir(parents=True, exist_ok=True)
    length = -(-stream.length // epochs)
    for epoch in range(epochs if offered is None else offered):
        start, stop = length * epoch, min(length * (epoch + 1), stream.length)
        for source in range(sources):
            file = place / f"{epoch}-{source}.parquet"
            if not file.exists():
                rows = pa.Table.from_batches(reading.read(start, stop, source, sources))
                pq.write_table(rows, file)
                os.utime(file, (epoch + 1, epoch + 1))  # Spark reads the oldest file first
    reader = spark.readStream.schema(reading.schema).option("maxFilesPerTrigger", sources)
    return reader.parquet(str(place))


def run(df, directory, after_epoch=lambda _: None, **hooks):
    """Run a query until its source has no more rows; return the rows of its epochs, as Arrow."""
    epochs = run_epochs(df, directory / "checkpoint", after_epoch=after_epoch, **hooks)
    return {epoch: rows for epoch, rows in epochs.items() if rows.num_rows}


def shares(rows):
    """Return, by source, the hashes, the times in seconds and the positions of its rows, in order.

    The table `rows` has the columns ``source``, ``hash`` and ``seconds``.
    """
    source = rows["source"].to_numpy()
    hashes = rows["hash"].to_numpy().view(np.uint64)
    seconds = rows["seconds"].to_numpy()
    places = {int(each): np.flatnonzero(source == each) for each in np.unique(source)}
    return {each: (hashes[place], seconds[place], place) for each, place in places.items()}


def expected_workers(spelling, workers, epochs, load="epoch"):
    """Route epochs of messages source by source, with the memory of each epoch for the next."""
    grouping = parse(spelling)
    memory: Snapshot = {}
    local: dict[int, Snapshot] = {}
    out = []
    for rows in epochs:
        routed = np.full(rows.num_rows, -1)
        memories = []
        for source, (hashes, seconds, place) in shares(rows).items():
            router = grouping.router(workers, source)
            router.remember(memory)
            if load == "lifetime" and source in local:
                router.restore(local[source])
            routed[place] = router.route(hashes, np.maximum.accumulate(seconds))
            memories.append(router.memory())
            local[source] = {name: router.snapshot()[name] for name in router.local_fields}
        memory = grouping.merge_memories(memories)
        out.append(routed.tolist())
    return out


def with_clues(df, time="time"):
    """Add columns that the oracle needs: source, hash of the key, and time in seconds."""
    clock = F.current_timestamp() if time is None else F.col(time)
    return df.select(
        "*",
        F.spark_partition_id().alias("source"),
        F.xxhash64("key").alias("hash"),
        clock.cast("double").alias("seconds"),
    )


def plan_of(df, mode="simple"):
    """Return the plan that Spark will run, or the output of another mode of `explain`."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        df.explain(mode=mode)
    return printed.getvalue()
