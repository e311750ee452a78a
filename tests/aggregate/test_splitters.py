"""Splitting on Spark: accepted messages stay in order, rejected lines become dead letters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.aggregators import WORKER
from evenkey.core.streams import generated
from evenkey.core.streams.files import LineIndex
from evenkey.core.streams.row_index import RowIndex
from evenkey.core.streams.splits import Columns, Country, JsonLines, Words
from evenkey.groupings import parse
from evenkey.pipeline.aggregate.messages.readings import LinesReading, RowsReading
from evenkey.pipeline.aggregate.messages.splitting import split_lines, vet_rows
from evenkey.pipeline.runs.input.sources import (
    _ORIGIN_SECONDS,
    stream_of,
)
from evenkey.pipeline.runs.output.epoch_files import EpochFiles
from evenkey.spark.keys.event_times import FAR_AHEAD, far_ahead
from evenkey.spark.routing.tasks import routing_task
from tests.tiers import most_in_soak


class Committing(EpochFiles):
    """Commits the files of tasks when they are read, as the end of an epoch does in a run."""

    def read(self, kind, epochs=None):
        for name in {name.split("/")[2] for name in self.commits.store.names("state/parts")}:
            self.commits.commit(name)
        return super().read(kind, epochs)


@pytest.fixture
def dead_letters(tmp_path):
    return Committing(tmp_path / "output")


@pytest.fixture
def files(tmp_path):
    return Committing(tmp_path / "state")


def run(spark, reading, split, tmp_path, epoch_messages=300):
    """Split a stream with two sources to its end; return the messages in order of arrival."""
    stream = stream_of(
        spark,
        reading,
        sources=2,
        epoch_messages=epoch_messages,
        stop_file=tmp_path / "paused",
    )
    epochs = {}

    def collect(batch, epoch):
        epochs[epoch] = batch.toArrow()

    query = (
        split(stream)
        .writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return pa.concat_tables(epochs[epoch] for epoch in sorted(epochs))


def place_of(message, rate):
    """Return the number of a message's line, computed from its time."""
    return (message["time"].timestamp() - _ORIGIN_SECONDS) * rate


def rejected_lines(dead_letters):
    table = dead_letters.read(EpochFiles.DEAD_LETTERS)
    return table.sort_by("position").to_pylist()


def counted(files):
    counts = files.read(EpochFiles.SPLITS)
    return pc.sum(counts["lines"]).as_py(), pc.sum(counts["rejected"]).as_py()


@pytest.mark.slow(7)
def test_accepted_and_rejected_lines_add_up(spark, dead_letters, files, tmp_path):
    lines = [b'{"user": "u%d"}' % position for position in range(700)]
    bad = {
        0: (b"{", "not JSON"),
        300: (b'{"user": ""}', "the key is empty"),
        301: (b"\xff{", "not UTF-8"),
        400: (b'{"user": "\\ud800"}', "the key has half a character (a lone surrogate)"),
        401: (b"[" * 100_000, "not JSON"),
        512: (b"{}", "there is no field 'user'"),
        699: (b"", "not JSON"),
    }
    for place, (line, _) in bad.items():
        lines[place] = line
    (tmp_path / "input.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    reading = LinesReading(LineIndex.build([tmp_path / "input.jsonl"]), 700, 1.0)

    def split(stream):
        return split_lines(stream, JsonLines(Columns("user")), dead_letters, files)

    messages = run(spark, reading, split, tmp_path)
    accepted = {place_of(row, 1.0): row["key"] for row in messages.to_pylist()}
    assert accepted == {p: f"u{p}" for p in range(700) if p not in bad}
    assert messages.num_rows == len(accepted)
    rejected = rejected_lines(dead_letters)
    assert [row["position"] for row in rejected] == sorted(bad)
    for row in rejected:
        line, reason = bad[row["position"]]
        assert row["line"] == line.decode(errors="replace")
        assert row["reason"].startswith(reason)
    assert counted(files) == (700, len(bad))


def test_a_line_becomes_its_words_in_order(spark, dead_letters, files, tmp_path):
    text = "to be or\n\nnot to be\n" + "...\n"
    (tmp_path / "input.txt").write_text(text)
    reading = LinesReading(LineIndex.build([tmp_path / "input.txt"]), 4, 2.0)

    def split(stream):
        return split_lines(stream, Words(), dead_letters, files)

    messages = run(spark, reading, split, tmp_path).to_pylist()
    assert [(place_of(row, 2.0), row["key"], row["count"]) for row in messages] == [
        (number, word, 1)
        for number, line in enumerate(text.splitlines())
        for word in line.split()
        if word != "..."
    ]
    assert {row["time"].timestamp() % 60 for row in messages} == {0.0, 1.0}
    assert dead_letters.read(EpochFiles.DEAD_LETTERS) is None
    assert counted(files) == (4, 0)


@pytest.mark.slow(3)
@pytest.mark.parametrize("grouping", most_in_soak(["dkg", "dchoices"], 3, slow=["dkg"]))
def test_routing_while_splitting_equals_routing_afterwards(
    spark, dead_letters, files, tmp_path, grouping
):
    """The second epoch's tasks begin with the statistics of the first."""
    hot = generated("country-skew-r80", messages=2000, rate=20)
    words = [*hot.texts(hot.batch(0, 2000).ids).to_pylist(), ""]
    (tmp_path / "input.txt").write_text("\n".join(words) + "\n")
    reading = LinesReading(LineIndex.build([tmp_path / "input.txt"]), 2001, 20.0, block=10)
    chosen = parse(grouping)
    task = routing_task(spark, chosen, 5, state=tmp_path / "tables", streaming=True)

    def split(stream):
        messages = split_lines(stream, Country(), dead_letters, files, routing=task)
        return operators.route(messages, "key", chosen, 5, time="time", column="afterwards")

    messages = run(spark, reading, split, tmp_path, epoch_messages=1001)
    assert messages.num_rows == 2000
    assert messages[WORKER] == messages["afterwards"]
    loads = np.bincount(messages[WORKER], minlength=5)
    assert loads.max() < 0.6 * loads.sum(), "the hot key was never spread"


def test_lines_far_ahead_are_rejected_with_their_time(spark, dead_letters, files, tmp_path):
    lines = [b"%d" % position for position in range(500)]
    (tmp_path / "input.txt").write_bytes(b"\n".join(lines))
    reading = LinesReading(LineIndex.build([tmp_path / "input.txt"]), 500, 1.0)

    def split(stream):
        far = F.timestamp_seconds(F.lit(253_402_300_799))
        time = F.when(F.col("position") % 100 == 0, far).otherwise(F.col("time"))
        dated = stream.withColumn("time", time)
        ahead = far_ahead(F.col("time"), F.expr("INTERVAL 1 hour"))
        marked = dated.withColumn(FAR_AHEAD, ahead)
        return split_lines(marked, Words(), dead_letters, files)

    messages = run(spark, reading, split, tmp_path)
    assert messages["key"].to_pylist() == [str(n) for n in range(500) if n % 100]
    reason = "its time 9999-12-31 23:59:59.000000 is further ahead"
    assert [(row["position"], row["line"]) for row in rejected_lines(dead_letters)] == [
        (n, str(n)) for n in range(0, 500, 100)
    ]
    assert all(row["reason"].startswith(reason) for row in rejected_lines(dead_letters))
    assert counted(files) == (500, 5)


def test_rows_without_key_or_count_are_rejected(spark, dead_letters, files, tmp_path):
    rows = pa.table(
        {
            "user": ["a", None, "", "b", "c", "d", None],
            "n": pa.array([1, 1, 1, 0, -5, None, None], pa.int32()),
        }
    )
    pq.write_table(rows, tmp_path / "input.parquet")
    reading = RowsReading(
        RowIndex.build([tmp_path / "input.parquet"], Columns("user", "n")), 7, 1.0
    )

    def split(stream):
        return vet_rows(stream, dead_letters, files)

    messages = run(spark, reading, split, tmp_path, epoch_messages=4).to_pylist()
    good = [(row["position"], row["key"], row["count"]) for row in messages]
    assert good == [(0, "a", 1), (1, None, 1)]
    small = " is not a whole number of at least 1"
    rejected = rejected_lines(dead_letters)
    assert [(row["position"], row["line"], row["reason"]) for row in rejected] == [
        (2, "", "the key is empty"),
        (3, "b", f"the count 0{small}"),
        (4, "c", f"the count -5{small}"),
        (5, "d", f"the count null{small}"),
        (6, None, f"the count null{small}"),
    ]
    assert counted(files) == (7, 5)
