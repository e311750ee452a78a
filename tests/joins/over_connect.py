"""Joins over a Spark Connect server, in a process of its own: ``python -m ... DIRECTORY MODE ...``.

Each case is printed as a line of JSON: its name, and what went wrong, or null.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import shapely
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from evenkey.errors import ConfigurationError
from evenkey.joins import DynamicDistributor, Mode, SpatialMatch, balanced_join, refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

WORKERS, EPOCHS = 2, 3
_SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


def rows_of(df: DataFrame) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(str, row)) for row in df.collect())


class Cases:
    """Joins against Spark's own, whose state lies where this process never looks."""

    def __init__(self, session: SparkSession, directory: Path, modes: Sequence[str]) -> None:
        self.session = session
        self.modes = modes
        self.directory = directory
        number = F.col("id")
        self.stream = session.range(600).select(
            number.alias("n"),
            F.when(number % 10 < 6, 3).when(number % 17 > 0, number % 50).alias("k"),
            F.timestamp_seconds(number).alias("at"),
        )
        self.static = session.range(60).select((number % 40).alias("k"), (number * 2).alias("v"))

    def from_files(self) -> DataFrame:
        """The same rows as a stream, one file an epoch."""
        files = str(self.directory / "input")
        self.stream.repartition(EPOCHS).write.mode("overwrite").parquet(files)
        reader = self.session.readStream.schema(self.stream.schema)
        return reader.option("maxFilesPerTrigger", 1).parquet(files)

    def run(self, joined: DataFrame, name: str) -> DataFrame:
        """Run a stream to its end, and give its rows."""
        query = (
            joined.writeStream.format("memory")
            .queryName(name)
            .option("checkpointLocation", str(self.directory / name / "checkpoint"))
            .start()
        )
        query.processAllAvailable()
        query.stop()
        return self.session.table(name)

    def a_batch(self) -> None:
        for mode in self.modes:
            for how in ("inner", "left"):
                found = balanced_join(
                    self.stream,
                    self.static,
                    "k",
                    how,
                    workers=WORKERS,
                    state=self.directory / "batch",
                    **vars(Mode.parse(mode)),
                )
                expected = self.stream.join(self.static, "k", how)
                assert rows_of(found) == rows_of(expected.select(found.columns))

    def a_batch_without_state(self) -> None:
        found = balanced_join(self.stream, self.static, "k", workers=WORKERS)
        assert found.count() == self.stream.join(self.static, "k").count()

    def a_stream(self) -> None:
        for number, mode in enumerate(self.modes):
            name = f"stream_{number}"
            joined = balanced_join(
                self.from_files(),
                self.static,
                "k",
                workers=WORKERS,
                time="at",
                state=self.directory / name / "state",
                distributor=DynamicDistributor(forced=(1,)),
                **vars(Mode.parse(mode)),
            )
            expected = self.stream.join(self.static, "k").select(joined.columns)
            assert rows_of(self.run(joined, name)) == rows_of(expected)

    def a_refresh(self) -> None:
        state = self.directory / "refreshed"
        options: dict[str, Any] = {"on": "k", "workers": WORKERS, "state": state}
        balanced_join(self.stream, self.static, **options)
        new = self.static.withColumn("v", F.col("v") + 1)
        assert refresh(new, state) == 2
        found = balanced_join(self.stream, self.static, **options)
        assert rows_of(found) == rows_of(self.stream.join(new, "k").select(found.columns))
        with pytest.raises(ConfigurationError, match="holds another static side"):
            balanced_join(self.stream, new.where("v > 9"), **options)

    def a_join_by_space(self) -> None:
        corners = [(x, y) for x in range(8) for y in range(8)]
        # Beside the boxes' own corners, so that "within" has no edges to think of.
        points = [shapely.Point(x + 0.5, y + 0.5) for x, y in corners]
        boxes = [shapely.box(x, y, x + 2, y + 2) for x, y in corners]
        stream = self.session.createDataFrame(_numbered(points), "p long, geometry binary")
        static = self.session.createDataFrame(_numbered(boxes), "s long, geometry binary")
        expected = {
            (p, s)
            for p, (x, y) in enumerate(corners)
            for s, (left, low) in enumerate(corners)
            if x - 1 <= left <= x and y - 1 <= low <= y
        }
        for pipeline in ("sps", "spis", "rihps", "risps"):
            match = SpatialMatch(relation="within", pipeline=pipeline)
            found = balanced_join(stream, static, match, workers=WORKERS)
            assert {tuple(row) for row in found.select("p", "s").collect()} == expected


def _numbered(shapes: list[shapely.Geometry]) -> list[tuple[int, bytearray]]:
    return [(number, bytearray(shapely.to_wkb(shape))) for number, shape in enumerate(shapes)]


def main(directory: Path, modes: Sequence[str]) -> None:
    """Run all cases."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Spark's own switch for a server on any port that is free.
    os.environ.setdefault("SPARK_TESTING", "1")
    builder = SparkSession.builder.remote(os.environ.get("SPARK_REMOTE") or "local[2]")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    cases = Cases(session, directory, modes)
    for name in [name for name in vars(Cases) if name.startswith("a_")]:
        work: Callable[[], None] = getattr(cases, name)
        try:
            work()
            wrong = None
        except Exception:  # noqa: BLE001 - it is reported
            wrong = traceback.format_exc()
        sys.stdout.write(json.dumps({"case": name, "wrong": wrong}) + "\n")
        sys.stdout.flush()
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
