"""The bill of each operator: processor seconds for a million rows, beside Spark's own operator.

The processor time of this process and of all that it started is counted: the driver, Spark's Java
process with its tasks, and all Python workers. So other load hardly changes the figures, and
waiting costs nothing. Counting the keys is part of evenkey's figures.

Rows are in memory. Each operator runs on three kinds of keys: uniform ones; with a hot key, which
has 60 % of the rows; and uniform ones that a Python function computes, which counting computes once
more. Streams read files and have no Python function before. Each operator also runs on a hundred
rows, which gives the cost of a call.

Operators that make the same rows run interleaved, in an order that changes from round to round. The
first run of each checks that the rows are those of Spark's own operator, and is not measured.
Figures are medians of `--rounds` runs on batches with uniform keys, and of at most three runs on
other inputs.

    python benchmarks/cost_of_operators.py           # about twenty minutes on two cores
    python benchmarks/cost_of_operators.py --json
    python benchmarks/cost_of_operators.py --rows 20000 --rounds 1 --only join
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

# The directory of a program comes first on the path, not that of the project.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.operators_beside_spark import (
    SETTINGS,
    Family,
    Inputs,
    batch_operators,
    groupings,
    names_of,
    quotes_of,
    rows_of,
    stream_operators,
    through_python,
)
from benchmarks.ordered_ways import digest
from benchmarks.processor_time import processor_seconds
from evenkey import spark as eks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    Operators = Callable[[Inputs, Path], list[Family]]

CALL_ROWS, CALL_KEYS = 100, 10
"""Rows and keys of the input on which the cost of a call is measured."""
CALL, UNIFORM, HOT, PYTHON = "call", "uniform", "hot", "python"
OTHER_ROUNDS = 3
"""How often operators run on inputs other than batches with uniform keys, at most."""
LISTS: dict[str, tuple[str, Operators, tuple[str, ...]]] = {
    "operators": ("operator", batch_operators, (CALL, UNIFORM, HOT, PYTHON)),
    "groupings": ("grouping", groupings, (CALL, UNIFORM, HOT)),
    "streams": ("operator", stream_operators, (CALL, UNIFORM, HOT)),
}
"""By the name of each list of figures: what an entry is called, the operators, their inputs."""


class Cost(NamedTuple):
    """Processor and elapsed seconds of a run."""

    processor: float
    elapsed: float


def inputs(spark: SparkSession, rows: int, keys: int, home: Path) -> Iterator[tuple[str, Inputs]]:
    """Yield each kind of input. Batches are kept in memory, one kind at a time."""
    names = names_of(spark, keys)
    # The calls come last, when Java has compiled what they run.
    for kind, number, hot in ((HOT, rows, True), (UNIFORM, rows, False), (CALL, CALL_ROWS, False)):
        of_kind = min(keys, CALL_KEYS) if kind == CALL else keys
        made, folder = rows_of(spark, number, of_kind, hot=hot), home / kind
        made.write.parquet(str(folder))
        stream = spark.readStream.schema(made.schema).parquet(str(folder))
        kept = made.persist()
        quotes = quotes_of(kept, of_kind).persist()
        if (kept.count(), quotes.count()) != (number, number // 4):
            message = f"{kind}: the input is not complete"
            raise AssertionError(message)
        yield kind, Inputs(kept, quotes, names, stream)
        if kind == UNIFORM:
            python = kept.withColumn("key", through_python("key"))
            yield PYTHON, Inputs(python, quotes, names)
        kept.unpersist()
        quotes.unpersist()


def computed(df: DataFrame, folder: Path) -> None:
    """Compute all rows, and keep none."""
    if not df.isStreaming:
        df.write.format("noop").mode("overwrite").save()
        return
    writer = df.writeStream.format("noop").outputMode("update")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def digest_of(df: DataFrame, folder: Path) -> list[int]:
    """Compute all rows, and return what identifies them; those of a stream are one epoch."""
    if not df.isStreaming:
        return digest(df)
    found: list[list[int]] = []
    writer = df.writeStream.foreachBatch(lambda rows, _: found.append(digest(rows)))
    writer = writer.outputMode("update").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    (only,) = [each for each in found if each[0]]
    return only


def measured(make: Callable[[Path], DataFrame], folder: Path) -> Cost:
    """Measure one run, with the counting of keys before it."""
    processor, start = processor_seconds(), time.perf_counter()
    computed(make(folder), folder)
    return Cost(processor_seconds() - processor, time.perf_counter() - start)


def costs(family: Family, folders: Iterable[Path], rounds: int) -> dict[str, Cost]:
    """Return the medians of Spark's own operator, under an empty name, and of evenkey's.

    Raises
    ------
    AssertionError
        An operator makes other rows than Spark's own.
    """
    folder, ways = iter(folders), {"": family.spark, **family.evenkey}
    digests = {name: digest_of(make(place := next(folder)), place) for name, make in ways.items()}
    if wrong := [name for name, found in digests.items() if found != digests[""]]:
        message = f"{', '.join(wrong)}: the rows are not those of {family.beside}"
        raise AssertionError(message)
    taken: dict[str, list[Cost]] = {name: [] for name in ways}
    names = [*ways]
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(measured(ways[name], next(folder)))
    return {
        name: Cost(*(statistics.median(column) for column in zip(*runs, strict=True)))
        for name, runs in taken.items()
    }


def table(spark: SparkSession, given: argparse.Namespace, home: Path) -> dict[str, Any]:
    """Measure the operators of all lists on all of their inputs."""
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in LISTS}
    numbers = count()
    folders = (home / f"run-{number}" for number in numbers)
    for kind, made in inputs(spark, given.rows, given.keys, home):
        for name, (word, make, kinds) in LISTS.items():
            if kind not in kinds:
                continue
            for family in make(made, home / f"kept-{kind}"):
                if given.only and not {*given.only.split(";")} & {name, *family.evenkey}:
                    continue
                began = time.perf_counter()
                often = kind == UNIFORM and name != "streams"
                rounds = given.rounds if often else min(given.rounds, OTHER_ROUNDS)
                costs_of_family = costs(family, folders, rounds)
                plain = costs_of_family.pop("")
                for operator, own in costs_of_family.items():
                    line = found[name].setdefault(operator, {word: operator})
                    line["beside"] = family.beside
                    line[kind] = compared(plain, own)
                seconds = time.perf_counter() - began
                sys.stderr.write(f"{kind}, {family.beside}: {seconds:.0f} s\n")
    return {name: [*found[name].values()] for name in LISTS}


def compared(plain: Cost, own: Cost) -> dict[str, float]:
    return {
        "spark": plain.processor,
        "evenkey": own.processor,
        "more": own.processor - plain.processor,
        "spark_elapsed": plain.elapsed,
        "evenkey_elapsed": own.elapsed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each input")
    parser.add_argument("--keys", type=int, default=2_000, help="keys, beside the hot one")
    parser.add_argument("--rounds", type=int, default=5, help="how often an operator runs")
    parser.add_argument("--only", help="lists or operators, with semicolons between")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        spark = eks.session("local[2]", SETTINGS | {"spark.local.dir": folder})
        spark.sparkContext.setLogLevel("ERROR")
        found = table(spark, given, Path(folder))
        spark.stop()
    outcome = {"rows": given.rows, "keys": given.keys, "rounds": given.rounds}
    outcome |= {**found, "minutes": (time.perf_counter() - started) / 60}
    if given.json:
        sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
        return
    for name, (word, _, kinds) in LISTS.items():
        for line in found[name]:
            for kind in kinds:
                sys.stdout.write(
                    "{}, {}: {evenkey:.2f} processor seconds, Spark's own {spark:.2f}; "
                    "{evenkey_elapsed:.1f} s and {spark_elapsed:.1f} s\n".format(
                        line[word], kind, **line[kind]
                    )
                )


if __name__ == "__main__":
    main()
