"""Measure the memory of a worker that aggregates a stream of very many keys.

python -m benchmarks.worker_memory [--messages 10000000] [--keys 5000000]

Every key occurs at least once; half of the messages are Zipf-distributed. The figure is the most
Arrow memory that the worker held between two batches, in MiB, including its final state.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators import WORKER, parse
from evenkey.core.streams import Zipf
from evenkey.spark.aggregates.partial_task import WorkerTask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.aggregators import Aggregator

__all__ = ["held_bytes", "messages"]

_BATCH = 100_000
_BOUNDED = (
    "heavy-hitters(k=20,capacity=1000)",
    "heavy-hitters(k=20,capacity=10000)",
    "top-k(k=20,capacity=1000)",
)


def messages(count: int, keys: int) -> Iterator[pa.RecordBatch]:
    """Make `count` messages of at most `keys` keys: of all keys if `count` is large enough."""
    zipf = Zipf(1.1, keys, messages=count)
    for start in range(0, count, _BATCH):
        numbers = np.arange(start, min(start + _BATCH, count))
        ids = np.where(numbers % 2, zipf.ids(start, start + len(numbers)), numbers // 2 % keys)
        texts = pc.binary_join_element_wise("key ", pc.cast(pa.array(ids), pa.string()), "")
        worker = pa.repeat(pa.scalar(0, pa.int32()), len(texts))
        yield pa.RecordBatch.from_arrays([texts, worker], names=["key", WORKER])


def held_bytes(aggregator: Aggregator, batches: Iterator[pa.RecordBatch]) -> int:
    """Run a worker over batches, and return the most Arrow memory held between two, in bytes."""
    before, most = pa.total_allocated_bytes(), 0

    def watched() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for batch in batches:
            yield batch
            # The worker has requested the next batch; this one is still in memory.
            most = max(most, pa.total_allocated_bytes() - before - batch.nbytes)

    by = ("key",) if aggregator.scope == "key" else ()
    schema = pa.schema([("key", pa.string()), (WORKER, pa.int32())])
    emitted = list(WorkerTask(aggregator.bind(schema), by)(watched()))
    return max(most, sum(int(batch.nbytes) for batch in emitted))


def main() -> None:
    """Print a line for each aggregator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--unbounded", action="store_true", help="also measure count")
    options = parser.parse_args()
    for spelling in (*_BOUNDED, *(["count"] if options.unbounded else [])):
        started = time.monotonic()
        held = held_bytes(parse(spelling), messages(options.messages, options.keys))
        seconds = time.monotonic() - started
        print(  # noqa: T201 - a program
            f"{spelling:36s} {held / 2**20:8.1f} MiB {seconds:8.1f} s"
        )


if __name__ == "__main__":
    main()
