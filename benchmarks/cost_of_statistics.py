"""Cases of ``python -m tools.compare``: what counting keys for the next plan costs a stream.

A stream of four epochs of 2,000,000 messages of `zipf(z=1.4,keys=100000)` is counted by
`eks.aggregate` on ten workers, two cores. Both cases follow the same plan, and Spark's own
expressions route the messages. In `counting`, workers also count their keys and write the counts to
`state`, and a task plans the next epoch from them. The figure is processor time.

    python -m tools.compare -- benchmarks/cost_of_statistics.py:{following,counting}
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.processor_time import processor_seconds
from evenkey import spark as eks
from evenkey.core.streams import generated
from tests.spark import oracle

MESSAGES, EPOCHS, WORKERS, SOURCES = 2_000_000, 4, 10, 2
"""`MESSAGES` is the number of messages in an epoch."""
Runs = Iterator[Callable[[], float]]


def following(messages: int = MESSAGES, epochs: int = EPOCHS) -> Runs:
    """Follow a fixed plan."""
    yield from _counts("planned(planning=fit)", messages, epochs)


def counting(messages: int = MESSAGES, epochs: int = EPOCHS) -> Runs:
    """Count keys, and plan each epoch from the previous one."""
    yield from _counts("planned(planning=previous,surprise=none)", messages, epochs)


def _counts(grouping: str, messages: int, epochs: int) -> Runs:
    stream, numbers = generated("zipf(z=1.4,keys=100000)", messages=messages * epochs), count()
    with tempfile.TemporaryDirectory(prefix="evenkey-bench-") as place:
        spark, home = eks.session("local[2]"), Path(place)
        rows = oracle.streaming(spark, stream, home, sources=SOURCES, epochs=epochs)
        sample = spark.read.schema(rows.schema).parquet(str(home / "input"))

        def run() -> float:
            own = home / str(next(numbers))
            eks.fit(sample, "key", grouping, WORKERS, state=own / "state", fraction=0.1)
            counts = eks.aggregate(
                rows,
                "key",
                grouping,
                WORKERS,
                "count",
                time="time",
                window="1 hour",
                watermark="1 second",
                max_ahead=None,
                state=own / "state",
                position="position",
            )
            before = processor_seconds()
            oracle.run(counts, own)
            return processor_seconds() - before

        yield run
