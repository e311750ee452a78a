"""ShuffleBench's match-and-count as we read its public description, with skewed consumers.

ShuffleBench (Henning, Vogel, Leichtfried, Ertl and Rabiser, ICPE 2024) compares engines of streams
at work that is mostly shuffling: records come from Kafka; a matcher makes of each record one copy
for each real-time consumer that it concerns; copies are brought to their consumers; each consumer
keeps state, and what it makes of its records is a black box. This is our reading of that
description, in Spark's own expressions, and none of the authors' code: figures are not to be held
against theirs.

- A record is `--bytes` random bytes. It concerns `--matches` consumers of `--consumers`, drawn by
  its hash: number c with a probability that falls as c ** -z, `--skew` being z; 0 for equally
  popular ones, as in the original.
- A consumer counts its records. `--cost-ms` is the black box: a sleep of each copy.
- Plain, Spark brings copies to consumers by the hash of the consumer; with evenkey by a plan.

Rate and latency, rounds, and the file of what was measured are those of `real_time.py`; rates are
of copies. Micro-batches and real time are measured over the same broker.

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
from benchmarks.real_time import SAMPLE, Bench, add_options, measure_all, show
from tools.kafka_broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

MODES = ("micro-batch", "real-time")
_UNIT = float(1 << 53)


class Matching(Bench):
    """The benchmark of a windowed count, with a matcher before it and no windows."""

    @cached_property
    def copies(self) -> float:  # type: ignore[override]
        """Copies of a record: where it is drawn for one consumer twice, it has one less."""
        return self.sample().count() / SAMPLE

    def sample(self) -> DataFrame:
        """Draw consumers of records, as a plan is to expect them."""
        records = self.spark.range(SAMPLE).select(
            F.col("id").cast("string").cast("binary").alias("value")
        )
        return records.select(F.explode(self._matches()).alias("key"))

    def message(self, number: int) -> bytes:
        """Give a record of random bytes."""
        del number
        return os.urandom(self.options.bytes)

    def keyed(self, messages: DataFrame) -> tuple[DataFrame, list[str], str]:
        """Give the copies of records, one a consumer."""
        matched = messages.select("*", F.posexplode(self._matches()).alias("match", "key"))
        # Each copy has a number of its own.
        number = F.col("offset") * self.options.matches + F.col("match")
        return matched.drop("value").withColumn("number", number), [], "number"

    def _matches(self) -> Column:
        """The consumers that a record concerns, each one once."""

        def drawn(match: Column) -> Column:
            bits = F.shiftrightunsigned(F.xxhash64("value", match), 11)
            return _consumer_at(bits / _UNIT, self.options.consumers, self.options.skew)

        numbers = F.sequence(F.lit(0), F.lit(self.options.matches - 1))
        return F.array_distinct(F.transform(numbers, drawn))

    def reading(self) -> dict[str, str]:
        """A micro-batch would take in all that a full topic holds."""
        if self.options.mode == "real-time":
            return {}
        return {"maxOffsetsPerTrigger": str(self.options.batch)}

    def started(self, writer: DataStreamWriter) -> StreamingQuery:
        """Start a query in its mode."""
        if self.options.mode == "micro-batch":
            return writer.trigger(processingTime="0 seconds").start()
        return super().started(writer)


def _consumer_at(share: Column, consumers: int, skew: float) -> Column:
    """The consumer up to whom a share of all copies goes: the inverse of a continuous power law."""
    top = consumers + 1.0
    if skew == 1:
        at = F.pow(F.lit(top), share)
    else:
        at = F.pow(1 + share * (top ** (1 - skew) - 1), F.lit(1 / (1 - skew)))
    return F.least(F.floor(at).cast("bigint"), F.lit(consumers).cast("bigint"))


def main() -> None:
    """Measure, and print medians or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_options(parser, output="build/shufflebench.jsonl", cost_ms=1)
    parser.add_argument("--consumers", type=int, default=100_000)
    parser.add_argument("--matches", type=int, default=1, help="consumers that a record concerns")
    parser.add_argument("--skew", type=float, default=1.2, help="0: all are equally popular")
    parser.add_argument("--bytes", type=int, default=1024, help="of a record")
    parser.add_argument(
        "--batch", type=int, default=10_000, help="records of a micro-batch, at most"
    )
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
        print(json.dumps(rows))  # noqa: T201
        return
    for mode, found in rows.items():
        print(mode)  # noqa: T201
        show(found)


if __name__ == "__main__":
    main()
