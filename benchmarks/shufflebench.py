"""ShuffleBench's match-and-count with skewed consumers, written from its public description.

ShuffleBench (Henning, Vogel, Leichtfried, Ertl and Rabiser, ICPE 2024) compares stream processors
at work that is mostly shuffling. Records come from Kafka; a matcher makes one copy of each record
for each real-time consumer that it concerns; the copies are shuffled to their consumers; each
consumer keeps state, and its work on the records is a black box. This program is our reading of
that description, in Spark's own expressions, without the authors' code: do not compare its figures
with theirs.

- A record is `--bytes` random bytes. It concerns `--matches` of `--consumers` consumers, which its
  hash draws: consumer c with a probability proportional to c ** -z, where z is `--skew`. With 0 all
  consumers are equally popular, as in the original.
- A consumer counts its records. `--cost-ms` is the black box: a sleep for each copy.
- The plain query shuffles copies by the hash of the consumer; with evenkey, by a plan.

Rate, latency, rounds and the file of results are those of `real_time.py`; rates count copies.
Micro-batches and real time are measured over the same broker.

    python benchmarks/shufflebench.py --minutes 10 --rounds 3     # about five hours, 15 GB of disk
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

# Benchmarks are programs, not a package.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.real_time import SAMPLE, Bench, add_options, measure_all, show, summary
from tools.kafka_broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

MODES = ("micro-batch", "real-time")
_UNIT = float(1 << 53)


class Matching(Bench):
    """The benchmark of `real_time.py`, with a matcher before the count and without windows."""

    @cached_property
    def copies(self) -> float:  # type: ignore[override]
        """Mean copies per record; fewer than `--matches`, since a consumer may be drawn twice."""
        return self.sample().count() / SAMPLE

    def sample(self) -> DataFrame:
        """Draw consumers of records, from which the plan is made."""
        records = self.spark.range(SAMPLE).select(
            F.col("id").cast("string").cast("binary").alias("value")
        )
        return records.select(F.explode(self._matches()).alias("key"))

    def message(self, number: int) -> bytes:
        """Return a record of random bytes."""
        del number
        return os.urandom(self.options.bytes)

    def keyed(self, messages: DataFrame) -> tuple[DataFrame, list[str], str]:
        """Return the copies of records, one per consumer, see `Bench.keyed`."""
        matched = messages.select("*", F.posexplode(self._matches()).alias("match", "key"))
        # Number the copies, not the records.
        number = F.col("offset") * self.options.matches + F.col("match")
        return matched.drop("value").withColumn("number", number), [], "number"

    def _matches(self) -> Column:
        """Return the consumers that a record concerns, each only once."""

        def drawn(match: Column) -> Column:
            bits = F.shiftrightunsigned(F.xxhash64("value", match), 11)
            return _consumer_at(bits / _UNIT, self.options.consumers, self.options.skew)

        numbers = F.sequence(F.lit(0), F.lit(self.options.matches - 1))
        return F.array_distinct(F.transform(numbers, drawn))

    def reading(self) -> dict[str, str]:
        """Limit the size of a micro-batch, which would otherwise read the whole backlog."""
        if self.options.mode == "real-time":
            return {}
        return {"maxOffsetsPerTrigger": str(self.options.batch)}

    def started(self, writer: DataStreamWriter) -> StreamingQuery:
        """Start a query in the mode of the options."""
        if self.options.mode == "micro-batch":
            return writer.trigger(processingTime="0 seconds").start()
        return super().started(writer)


def _consumer_at(share: Column, consumers: int, skew: float) -> Column:
    """Return the consumer at a quantile of all copies, by the inverse of a continuous power law."""
    top = consumers + 1.0
    if skew == 1:
        at = F.pow(F.lit(top), share)
    else:
        at = F.pow(1 + share * (top ** (1 - skew) - 1), F.lit(1 / (1 - skew)))
    return F.least(F.floor(at).cast("bigint"), F.lit(consumers).cast("bigint"))


def main() -> None:
    """Measure, and print the medians or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_options(parser, output="build/shufflebench.jsonl", cost_ms=1)
    parser.add_argument("--consumers", type=int, default=100_000)
    parser.add_argument("--matches", type=int, default=1, help="consumers that a record concerns")
    parser.add_argument("--skew", type=float, default=1.2, help="0: equally popular consumers")
    parser.add_argument("--bytes", type=int, default=1024, help="bytes per record")
    parser.add_argument("--batch", type=int, default=10_000, help="most records of a micro-batch")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    options = parser.parse_args()
    given = ("consumers", "matches", "skew", "bytes", "batch", "mode")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        broker = Broker(Path(directory) / "broker", options.port)
        broker.start()
        try:
            for mode in options.modes:
                options.mode = mode
                place = Path(directory) / mode
                bench = Matching(options, broker, place)
                rows[mode] = measure_all(bench, options.output, given)
        finally:
            broker.stop()
    if options.json:
        print(json.dumps({mode: summary(found) for mode, found in rows.items()}))  # noqa: T201
        return
    for mode, found in rows.items():
        print(mode)  # noqa: T201
        show(found)


if __name__ == "__main__":
    main()
