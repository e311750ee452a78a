"""What lessons cost: processor time of a stream under planned with them and without.

A stream of four epochs of 2,000,000 messages of `zipf(z=1.4,keys=100000)` is counted by
`eks.aggregate` on ten workers, two cores. Both sides follow the same plan and are routed natively;
one side's workers count their keys, leave the counts in `state`, and a task plans the next epoch of
them. By turns, after one warm-up each. Asked for: at most 2 % of processor time.

    python benchmarks/cost_of_lessons.py            # about ten minutes
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.processor_time import processor_seconds
from evenkey import spark as eks
from evenkey.spark.sessions import session
from evenkey.streams import generated
from tests.spark import oracle

MESSAGES, EPOCHS, WORKERS, SOURCES = 2_000_000, 4, 10, 2
"""Messages are those of an epoch."""
SIDES = {"with": "planned(planning=previous,surprise=none)", "without": "planned(planning=fit)"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--messages", type=int, default=MESSAGES, help="of an epoch")
    arguments = parser.parse_args()
    rounds, epochs = arguments.rounds, arguments.epochs
    stream = generated("zipf(z=1.4,keys=100000)", messages=arguments.messages * epochs)
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as place:
        spark = session("local[2]", {"spark.local.dir": place})
        home = Path(place)
        rows = oracle.streaming(spark, stream, home, sources=SOURCES, epochs=epochs)
        sample = spark.read.schema(rows.schema).parquet(str(home / "input"))
        taken: dict[str, list[float]] = {side: [] for side in SIDES}
        for turn in range(-1, rounds):
            for side, grouping in SIDES.items():
                own = home / f"{side}-{turn}"
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
                seconds = processor_seconds() - before
                console.print(f"turn {turn}, {side}: {seconds:.1f} s")
                if turn >= 0:
                    taken[side].append(seconds)
        spark.stop()
    ratios = [with_ / without for with_, without in zip(*taken.values(), strict=True)]
    middle = statistics.median(ratios)
    console.print(f"with over without: {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
