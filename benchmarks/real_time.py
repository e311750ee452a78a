"""Compare a plain and a ``planned`` windowed count by key, in Spark's real-time mode with Kafka.

Each message costs its worker a sleep, in the JVM. Two figures of each query are measured,
interleaved: the rate, over a topic with a backlog; and the latency of each message, from the time
of its record to that of the record with its count, at a rate that both queries can keep up with.
With a backlog, messages of other keys overtake those of a hot key that falls behind, although the
query would never catch up with that key. So the rate of each frequent key is divided by its share
of the messages, and the lowest quotient is the rate of the query. Results are appended to a file,
one JSON object per line; started again with the same file, the program continues after them. It
starts its own broker (`make setup-kafka`).

    python benchmarks/real_time.py --minutes 10 --rounds 3     # about two hours and a half
    python benchmarks/real_time.py --minutes 0.3 --rounds 1    # check that it works: three minutes
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as F
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from evenkey import spark as eks
from evenkey.core.streams import generated
from evenkey.kafka.connector import connector_settings

# The class of the broker is in the tests, outside the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tools.kafka_broker import Broker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

WAYS = ("plain", "planned")
_TICK = 0.01
_FASTEST = 20_000
"""Messages per second that no query here exceeds; it determines the size of a backlog."""
_FREQUENT = 0.02
"""Share of all messages from which a key counts as frequent, so that its rate can be measured."""
SAMPLE = 100_000
"""Number of messages from which the plan is made."""
_GIVEN = ("dataset", "minutes", "workers", "partitions", "cost_ms", "epoch", "warm_up")


class Bench:
    """A session, a broker, and the queries to measure."""

    copies = 1.0
    """Mean number of rows that a message becomes; rates count rows."""

    def __init__(self, options: argparse.Namespace, broker: Broker, directory: Path) -> None:
        self.options, self.broker, self.directory = options, broker, directory
        settings = {
            **eks.REAL_TIME_SETTINGS,
            **connector_settings(),
            "spark.sql.shuffle.partitions": str(options.workers),
            "spark.sql.streaming.realTimeMode.minBatchDuration": "1s",
            "spark.local.dir": str(directory / "spark"),
        }
        slots = options.workers + options.partitions
        self.spark: SparkSession = eks.session(f"local[{slots}]", settings)
        self.state = directory / "plan"
        eks.fit(self.sample(), "key", "planned", options.workers, state=self.state)

    def sample(self) -> DataFrame:
        """Draw keys of messages, from which the plan is made."""
        return self.spark.createDataFrame([(key,) for key in self._keys[:SAMPLE]], "key string")

    @cached_property
    def shares(self) -> dict[str, float]:
        """Share of all rows that each frequent key has."""
        counts = {str(row[0]): row[1] for row in self.sample().groupBy("key").count().collect()}
        rows = sum(counts.values())
        return {key: n / rows for key, n in counts.items() if n >= _FREQUENT * rows}

    @cached_property
    def _keys(self) -> list[str]:
        # After a million messages the keys repeat.
        stream = generated(self.options.dataset, messages=1_000_000)
        keys: list[str] = stream.texts(stream.batch(0, 1_000_000).ids).to_pylist()
        return keys

    def topic(self, partitions: int) -> str:
        """Create a topic."""
        from confluent_kafka.cimpl import NewTopic

        name = f"bench-{secrets.token_hex(4)}"
        new = NewTopic(name, num_partitions=partitions)
        admin = self._admin()  # kept in a variable: the result never comes if the client is freed
        admin.create_topics([new])[name].result(30)
        return name

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.broker.server})

    def producer(self) -> Any:
        """Return a producer that sends with almost no delay."""
        from confluent_kafka import Producer

        return Producer(
            {
                "bootstrap.servers": self.broker.server,
                "linger.ms": 1,
                "queue.buffering.max.messages": 1_000_000,
            }
        )

    def send(self, producer: Any, topic: str, start: int, stop: int) -> None:
        """Send the messages numbered `start` to `stop` - 1, to the partitions in turn."""
        now = int(time.time() * 1000)
        for number in range(start, stop):
            value = self.message(number)
            partition = number % self.options.partitions
            while True:
                try:
                    producer.produce(topic, value, partition=partition, timestamp=now)
                except BufferError:
                    producer.poll(0.1)
                else:
                    break
        producer.poll(0)

    def message(self, number: int) -> bytes:
        """Return the value of the message with this number."""
        return self._keys[number % len(self._keys)].encode()

    def keyed(self, messages: DataFrame) -> tuple[DataFrame, list[str], str]:
        """Return the rows of messages, the columns to count by, and the column of row numbers."""
        rows = messages.withColumn("key", F.col("value").cast("string")).drop("value")
        timed = rows.withWatermark("timestamp", "1 minute")
        return timed.withColumn("window", F.window("timestamp", "1 minute")), ["window"], "offset"

    def query(self, way: str, source: str, target: str) -> StreamingQuery:
        """Start a count by key, with work for each row after the shuffle."""
        workers = self.options.workers
        messages = (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.broker.server)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .options(**self.reading())
            .load()
        )
        rows, by, position = self.keyed(messages.select("value", "timestamp", "offset"))
        by = [*by, "key"]
        if way == "planned":
            rows = eks.route(
                rows, "key", way, workers, state=self.state, position=position, real_time=True
            )
            rows = eks.place(rows, workers, by="split", key=by)
            by.append("split")
        # This places rows as the groupBy requires, so there is only one shuffle.
        placed = rows.repartition(workers, *by)
        if self.options.cost_ms:
            placed = placed.withColumn("slept", _sleep(self.options.cost_ms))
            placed = placed.where("slept IS NOT NULL")
        counts = placed.groupBy(*by).agg(
            F.count(F.lit(1)).alias("count"), F.max("timestamp").alias("at")
        )
        value = F.concat_ws(" ", F.unix_millis("at"), "count")
        writer = (
            counts.select(F.to_json(F.struct(*by)).alias("key"), value.alias("value"))
            .writeStream.format("kafka")
            .outputMode("update")
            .option("kafka.bootstrap.servers", self.broker.server)
            .option("kafka.linger.ms", "1")
            .option("topic", target)
            .option("checkpointLocation", str(self.directory / "checkpoints" / target))
        )
        return self.started(writer)

    def reading(self) -> dict[str, str]:
        """Return further options of the source."""
        return {}

    def started(self, writer: DataStreamWriter) -> StreamingQuery:
        """Start a query."""
        trigger: Any = writer.trigger  # PySpark's type hints lack realTime on classic sessions
        query: StreamingQuery = trigger(realTime=self.options.epoch).start()
        return query

    def measure(self, way: str, seconds: float, rate: float | None) -> dict[str, Any]:
        """Run a query for some time, over a backlog (`rate` None) or over messages at a rate."""
        options = self.options
        source, target = self.topic(options.partitions), self.topic(1)
        producer = self.producer()
        done = threading.Event()
        whole, full = seconds + options.warm_up, 0
        if rate is None:
            most = min(1000 * options.workers / max(options.cost_ms, 1), _FASTEST)
            full = int(most * whole) + 1
            self.send(producer, source, 0, full)
            producer.flush()
        query = self.query(way, source, target)
        feeder = threading.Thread(
            target=self._feed, args=(producer, source, (rate or 0) / self.copies, done)
        )
        try:
            if rate is not None:
                feeder.start()
            begin = self._first(target, query)
            time.sleep(whole)
            if not query.isActive:
                raise RuntimeError(str(query.exception()))
        finally:
            done.set()
            query.stop()
            if rate is not None:
                feeder.join()
        written, messages, keys = self._written(target)
        admin = self._admin()
        for deleted in admin.delete_topics([source, target]).values():
            deleted.result(30)
        if rate is None and len(written) >= full:
            message = f"{way} read all {full:,} messages before its time was up: raise --cost-ms"
            raise RuntimeError(message)
        first, last = begin + 1000 * options.warm_up, begin + 1000 * whole
        inside = (written >= first) & (written < last)
        latency = (written - messages)[inside]
        found: dict[str, Any] = {"way": way, "seconds": seconds, "rows": int(inside.sum())}
        if rate is None:
            counted = float(inside.sum() / seconds)
            by_key = Counter(keys[inside].tolist())
            sustained = (by_key[key] / seconds / share for key, share in self.shares.items())
            return {
                "kind": "rate",
                **found,
                "messages_per_second": min([counted, *sustained]),
                "counted_per_second": counted,
            }
        half = inside & (written >= (first + last) / 2)
        return {
            "kind": "latency",
            **found,
            "rate": rate,
            "messages_per_second": float(inside.sum() / seconds),
            "latency_ms": {
                "p50": float(np.percentile(latency, 50)),
                "p99": float(np.percentile(latency, 99)),
                "p99_of_the_second_half": float(np.percentile((written - messages)[half], 99)),
            },
        }

    def _feed(self, producer: Any, topic: str, rate: float, done: threading.Event) -> None:
        begin, sent = time.monotonic(), 0
        while not done.wait(_TICK):
            due = int((time.monotonic() - begin) * rate)
            self.send(producer, topic, sent, due)
            sent = due
        producer.flush()

    def _first(self, target: str, query: StreamingQuery) -> float:
        """Wait for the first record of a topic, and return its time in milliseconds."""
        with _consumer(self.broker, target) as poll:
            while True:
                record = poll()
                if record is not None:
                    return float(record.timestamp()[1])
                if not query.isActive:
                    raise RuntimeError(str(query.exception()))

    def _written(self, target: str) -> tuple[np.ndarray[Any, Any], ...]:
        """Return arrays over all counted rows: when the count was written, when sent, the key.

        If the count of a record exceeds the previous count of its key by several rows, only the
        time of the last of these rows is known; the others are assumed to have been sent at a
        constant rate in between.
        """
        before: dict[bytes, tuple[int, float]] = {}
        written, sent, keys = [], [], []
        with _consumer(self.broker, target) as poll:
            while (record := poll()) is not None:
                last, count = map(int, record.value().split())
                known, first = before.get(record.key(), (0, float(last)))
                before[record.key()] = count, float(last)
                more = count - known
                written += [record.timestamp()[1]] * more
                sent += [last - (last - first) * left / more for left in range(more)]
                keys += [str(json.loads(record.key())["key"])] * more
        times = (np.array(each, dtype=np.float64) for each in (written, sent))
        return (*times, np.array(keys, dtype=object))


class _consumer:  # noqa: N801 - used as a function
    """Reads a topic of one partition from its start; a call returns a record, None at the end."""

    def __init__(self, broker: Broker, topic: str) -> None:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        servers = {"bootstrap.servers": broker.server, "group.id": "bench"}
        self._consumer = Consumer({**servers, "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])

    def __enter__(self) -> Callable[[], Any]:
        return lambda: self._consumer.poll(2.0)

    def __exit__(self, *_: object) -> None:
        self._consumer.close()


def _sleep(milliseconds: int) -> Column:
    """Sleep once per row: Spark treats a Java call as nondeterministic, so it runs for each row."""
    kind, method = F.lit("java.lang.Thread"), F.lit("sleep")
    return F.java_method(kind, method, F.lit(milliseconds).cast("bigint"))


def measure_all(bench: Bench, output: Path, more: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Measure what the file does not contain yet, interleaved, and append it."""
    options = bench.options
    lines = output.read_text().splitlines() if output.exists() else []
    given = {name: getattr(options, name) for name in (*_GIVEN, *more)}
    every: list[dict[str, Any]] = [json.loads(line) for line in lines]
    rows = [row for row in every if given.items() <= row.items()]
    known = {(row["round"], row["kind"], row["way"]) for row in rows}
    for number in range(options.rounds):
        for kind in ("rate", "latency"):
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                if (number, kind, way) in known:
                    continue
                rate = None if kind == "rate" else options.rate or _common_rate(rows)
                found = bench.measure(way, 60 * options.minutes, rate)
                rows.append({"round": number, **found, **given})
                with output.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    return rows


def _common_rate(rows: list[dict[str, Any]]) -> float:
    """Return a rate that both queries keep up with: 0.7 of the slower one's in the first round."""
    first = [row for row in rows if row["kind"] == "rate" and row["round"] == 0]
    slowest: float = min(row["messages_per_second"] for row in first)
    return round(0.7 * slowest, 1)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians of each way, and how many times plain's rate planned has in each round."""
    ways: list[dict[str, Any]] = []
    rates: list[list[float]] = []
    for way in WAYS:
        fast, late = (
            [row for row in rows if row["way"] == way and row["kind"] == kind]
            for kind in ("rate", "latency")
        )
        rates.append([row["messages_per_second"] for row in fast])
        latencies = {
            name: statistics.median(row["latency_ms"][name] for row in late)
            for name in ("p50", "p99", "p99_of_the_second_half")
        }
        ways.append(
            {
                "way": way,
                "rounds": len(fast),
                "messages_per_second": statistics.median(rates[-1]),
                "counted_per_second": statistics.median(row["counted_per_second"] for row in fast),
                "rate": statistics.median(row["rate"] for row in late),
                **latencies,
            }
        )
    # The rows of a way are in the order of the rounds.
    times = [planned / plain for plain, planned in zip(*rates, strict=True)]
    gain = {"median": statistics.median(times), "least": min(times), "most": max(times)}
    return {"ways": ways, "planned_over_plain": gain, "rows": rows}


def show(rows: list[dict[str, Any]]) -> None:
    """Print the medians."""
    table = Table(box=MARKDOWN)
    for heading in ("way", "rounds", "messages/s", "at messages/s", "p50, ms", "p99, ms"):
        table.add_column(heading, justify="right")
    for way in summary(rows)["ways"]:
        figures = (way[name] for name in ("messages_per_second", "rate", "p50", "p99"))
        table.add_row(way["way"], str(way["rounds"]), *(f"{figure:,.0f}" for figure in figures))
    Console(width=120).print(table)


def add_options(parser: argparse.ArgumentParser, *, output: str, cost_ms: int) -> None:
    """Add the options that both benchmarks of real time share."""
    parser.add_argument("--dataset", default="country-skew-r80")
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes per measurement")
    parser.add_argument("--warm-up", type=float, default=20.0, help="seconds before each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=2, help="partitions of the source topic")
    parser.add_argument("--cost-ms", type=int, default=cost_ms, help="sleep per message, ms")
    parser.add_argument("--epoch", default="5 minutes", help="length of a Spark epoch")
    parser.add_argument("--rate", type=float, help="messages/s when latency is measured")
    parser.add_argument("--output", type=Path, default=Path(output))
    parser.add_argument("--port", type=int, default=19_092, help="port of the broker")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main() -> None:
    """Measure, and print the medians or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_options(parser, output="build/real-time.jsonl", cost_ms=5)
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        broker = Broker(Path(directory) / "broker", options.port)
        broker.start()
        try:
            rows = measure_all(Bench(options, broker, Path(directory)), options.output)
        finally:
            broker.stop()
    if options.json:
        print(json.dumps(summary(rows)))  # noqa: T201
    else:
        show(rows)


if __name__ == "__main__":
    main()
