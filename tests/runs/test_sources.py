from __future__ import annotations

import itertools
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F
from pyspark.sql.streaming.datasource import ReadMaxRows

from evenkey.core.errors import RunError
from evenkey.core.streams import generated
from evenkey.core.streams.files import LineIndex
from evenkey.core.streams.row_index import RowIndex
from evenkey.core.streams.splits import Columns
from evenkey.pipeline.aggregate.messages.readings import GeneratorReading, LinesReading, RowsReading
from evenkey.pipeline.runs.input.closing import closing_rows
from evenkey.pipeline.runs.input.sources import (
    _digest,
    _PositionReader,
    stream_of,
)
from tests.tiers import most_in_soak

ORIGIN = datetime(2020, 1, 1, tzinfo=UTC)
TOTAL = 1500
RATE = 3.0


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    """Make the same 1,500 rows for each kind of source; row i has the text of i."""
    directory = tmp_path_factory.mktemp("input")
    texts = [str(position) for position in range(TOTAL)]
    half = TOTAL // 2
    for name, part in (("a", texts[:half]), ("b", texts[half:])):
        (directory / f"{name}.txt").write_text("\n".join(part))
        rows = pa.table({"user": part, "n": [int(text) + 1 for text in part]})
        pq.write_table(rows, directory / f"{name}.parquet", row_group_size=200)
    lines = LineIndex.build(sorted(directory.glob("*.txt")))
    rows = RowIndex.build(sorted(directory.glob("*.parquet")), Columns("user", "n"))
    stream = generated("zipf(z=1.2,keys=50)", messages=TOTAL, rate=RATE, seed=7)
    return {
        "generator": GeneratorReading(stream),
        "lines": LinesReading(lines, TOTAL, RATE),
        "rows": RowsReading(rows, TOTAL, RATE),
    }


KINDS = pytest.mark.parametrize("kind", ["generator", "lines", "rows"])
MOST_KINDS = pytest.mark.parametrize(
    "kind", most_in_soak(["generator", "lines", "rows"], 3, slow=["generator", "rows"])
)


def shares(reading, start, stop, sources):
    """Read the rows of each source, as the source's task does."""
    reading = pickle.loads(pickle.dumps(reading))
    read = (list(reading.read(start, stop, source, sources)) for source in range(sources))
    return [pa.Table.from_batches(batches).to_pylist() if batches else [] for batches in read]


def by_position(rows):
    return sorted(rows, key=lambda row: row["position"])


@pytest.mark.slow(3)
@MOST_KINDS
@given(data=st.data())
def test_every_range_reads_its_rows_once_and_in_order(readings, kind, data):
    reading = readings[kind]
    start = data.draw(st.integers(0, TOTAL - 1))
    stop = data.draw(st.integers(start + 1, TOTAL))
    dealt = shares(reading, start, stop, data.draw(st.integers(1, 7)))
    for share in dealt:
        assert share == by_position(share)
    together = by_position(itertools.chain.from_iterable(dealt))
    assert [row["position"] for row in together] == list(range(start, stop))
    assert together == shares(reading, 0, TOTAL, 1)[0][start:stop]


@KINDS
def test_times_are_positions_over_the_rate(readings, kind):
    (rows,) = shares(readings[kind], 0, TOTAL, 1)
    for row in rows:
        expected = ORIGIN + timedelta(seconds=row["position"] / RATE)
        assert abs(row["time"] - expected) <= timedelta(microseconds=1)


def test_generated_messages_go_to_sources_round_robin(readings):
    for source, share in enumerate(shares(readings["generator"], 5, 50, 3)):
        assert share
        assert {row["position"] % 3 for row in share} == {source}


def test_generated_messages_equal_those_of_the_stream(readings):
    stream = generated("zipf(z=1.2,keys=50)", messages=TOTAL, rate=RATE, seed=7)
    messages = stream.batch(0, TOTAL)
    (rows,) = shares(readings["generator"], 0, TOTAL, 1)
    assert [row["key"] for row in rows] == stream.texts(messages.ids).to_pylist()
    assert [row["count"] for row in rows] == messages.counts.tolist()


def test_a_long_generated_range_comes_in_bounded_batches():
    reading = GeneratorReading(generated("uniform(keys=9)", messages=200_000))
    batches = list(reading.read(0, 200_000, 1, 2))
    assert max(batch.num_rows for batch in batches) <= 1 << 16
    positions = np.concatenate([batch["position"].to_numpy() for batch in batches])
    np.testing.assert_array_equal(positions, np.arange(1, 200_000, 2))


def test_lines_and_rows_have_their_own_content(readings):
    (lines,) = shares(readings["lines"], 0, TOTAL, 1)
    assert all(row["line"] == str(row["position"]).encode() for row in lines)
    (rows,) = shares(readings["rows"], 0, TOTAL, 1)
    assert all(row["key"] == str(row["position"]) for row in rows)
    assert all(row["count"] == row["position"] + 1 for row in rows)


def test_input_that_changed_after_the_start_is_rejected(tmp_path):
    file = tmp_path / "input.txt"
    file.write_text("one\ntwo\n")
    reading = LinesReading(LineIndex.build([file]), 2, RATE)
    file.write_text("one\ntwo\nthree\n")
    with pytest.raises(RunError, match=r"input\.txt has changed since the run began"):
        shares(reading, 0, 2, 1)
    file.unlink()
    with pytest.raises(RunError, match=r"input\.txt cannot be read any more"):
        shares(reading, 0, 2, 1)


def run(df, checkpoint, each_epoch=lambda _: None):
    """Run a query until its source offers no more; return the rows of each epoch."""
    epochs = {}

    def collect(batch, epoch):
        epochs[epoch] = batch.toArrow().to_pylist()
        each_epoch(epoch)

    query = (
        df.writeStream.foreachBatch(collect).option("checkpointLocation", str(checkpoint)).start()
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return {epoch: rows for epoch, rows in epochs.items() if rows}


@pytest.mark.slow(3)
@MOST_KINDS
def test_paused_and_restarted_gives_every_row_once(spark, readings, kind, tmp_path):
    reading, stop_file = readings[kind], tmp_path / "paused"

    def stream():
        df = stream_of(spark, reading, sources=2, epoch_messages=600, stop_file=stop_file)
        return df.withColumn("source", F.spark_partition_id())

    def pause(epoch):
        if epoch == 1:
            stop_file.touch()

    before = run(stream(), tmp_path / "checkpoint", pause)
    assert [len(rows) for rows in before.values()] == [600, 600]
    stop_file.unlink()
    after = run(stream(), tmp_path / "checkpoint")
    assert {epoch: len(rows) for epoch, rows in after.items()} == {2: 300}

    for epoch, rows in (before | after).items():
        expected = shares(reading, epoch * 600, min(TOTAL, epoch * 600 + 600), 2)
        for source, share in enumerate(expected):
            assert [row for row in rows if row["source"] == source] == [
                {**row, "source": source} for row in share
            ]


@pytest.mark.slow(2)
def test_closing_row_comes_once_and_only_after_the_closing_file(spark, tmp_path):
    closing_file = tmp_path / "closing"
    stream = closing_rows(spark, closing_file)
    assert run(stream, tmp_path / "checkpoint") == {}
    closing_file.touch()
    ((row,),) = run(stream, tmp_path / "checkpoint").values()
    assert row["time"].year == 9000
    assert run(stream, tmp_path / "checkpoint") == {}


def test_a_new_session_of_a_session_with_sources_has_them_too(spark, tmp_path):
    reading = GeneratorReading(generated("uniform(keys=3)", messages=10))
    for session in (spark, spark.newSession(), spark):
        df = stream_of(session, reading, sources=1, epoch_messages=10, stop_file=tmp_path / "stop")
        assert df.columns == ["position", "key", "count", "time"]
        assert closing_rows(session, tmp_path / "closing").columns == ["time"]


class Clock:
    """A clock for sources that advances when they sleep."""

    def __init__(self):
        self.time = 100.0
        self.on_sleep = lambda: None

    def sleep(self, seconds):
        self.time += seconds
        self.on_sleep()


@pytest.fixture
def clock(monkeypatch):
    # Replace only the module's names: Spark's threads in this process use the real clock.
    made = Clock()
    monkeypatch.setattr("evenkey.pipeline.runs.input.sources.monotonic", lambda: made.time)
    monkeypatch.setattr("evenkey.pipeline.runs.input.sources.sleep", made.sleep)
    return made


def offered(reader, start):
    return reader.latestOffset({"position": start}, ReadMaxRows(600))["position"]


def reader_of(readings, stop_file, arrival_rate):
    kept = Path(stop_file).with_name("reading")
    content = pickle.dumps(readings["generator"])
    kept.write_bytes(content)
    options = {"reading": str(kept), "sources": "2", "epoch_messages": "600"}
    options["digest"] = _digest(content)
    return _PositionReader({**options, "stop_file": stop_file, "arrival_rate": arrival_rate})


def test_an_epoch_is_offered_when_its_messages_have_arrived(readings, clock, tmp_path):
    reader = reader_of(readings, str(tmp_path / "stop"), "60")
    assert [(offered(reader, start), round(clock.time)) for start in (0, 600, 1200, TOTAL)] == [
        (600, 110), (1200, 120), (TOTAL, 125), (TOTAL, 125),
    ]  # fmt: skip


def test_the_latest_offset_is_what_has_arrived(readings, clock, tmp_path):
    reader = reader_of(readings, str(tmp_path / "stop"), "60")
    assert reader.reportLatestOffset() == {"position": 0}
    offered(reader, 0)
    clock.time += 3.5
    assert reader.reportLatestOffset() == {"position": 600 + 210}
    clock.time += 1000
    assert reader.reportLatestOffset() == {"position": TOTAL}
    everything = reader_of(readings, str(tmp_path / "stop"), "inf")
    offered(everything, 0)
    assert everything.reportLatestOffset() == {"position": TOTAL}


def test_a_slow_query_finds_what_has_arrived_in_the_meantime(readings, clock, tmp_path):
    reader = reader_of(readings, str(tmp_path / "stop"), "60")
    assert offered(reader, 600) == 1200  # rows that were read before a restart do not come again
    clock.time = 500.0
    assert (offered(reader, 1200), clock.time) == (TOTAL, 500.0)


def test_a_stop_does_not_wait_for_arrivals(readings, clock, tmp_path):
    stop_file = tmp_path / "stop"
    reader = reader_of(readings, str(stop_file), "0.001")
    clock.on_sleep = stop_file.touch
    assert offered(reader, 0) == 0
    assert clock.time < 101


class _Touching:
    """An object whose pickle creates a file when it is loaded."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def test_a_file_of_another_program_is_not_unpickled(tmp_path):
    kept, ran = tmp_path / "reading-1", tmp_path / "ran"
    kept.write_bytes(pickle.dumps(_Touching(ran)))
    with pytest.raises(RunError, match="reading-1 is not what this program wrote"):
        _PositionReader({"reading": str(kept), "digest": _digest(b"what was written")})
    assert not ran.exists()
