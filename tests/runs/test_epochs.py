"""The end of an epoch: its commit, its counts, and when it publishes nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from pyspark.sql import functions as F

from evenkey.core.errors import RunError
from evenkey.pipeline.runs.driving.epochs import EpochEnd
from evenkey.pipeline.runs.driving.run_times import Timeline, epochs_of
from evenkey.pipeline.runs.output.claims import Claim
from evenkey.pipeline.runs.output.commits import Commits, epoch_name
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.sinks import FileSink

MINUTES = [[0, 60], [61, 0, 120], [121, 2, 3, 180]]
"""Event times of the messages of each epoch; by the third, minutes 2 and 3 are late."""


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "in").mkdir()
    for number, minutes in enumerate(MINUTES):
        times = [datetime(2020, 1, 1, m // 60, m % 60, tzinfo=UTC).isoformat() for m in minutes]
        text = "".join(json.dumps({"t": time, "k": "a"}) + "\n" for time in times)
        (tmp_path / "in" / f"{number}.json").write_text(text)
    return tmp_path / "in"


def run(spark, lines, directory, *, epochs=None, sink=None):
    """Count messages by minute, one file per epoch; stop inside epoch number `epochs`."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.shuffle.partitions", 2)
    sink = sink or FileSink(directory.commits, "parquet")
    end = EpochEnd(own, directory, sink, windowed=True)

    def write(rows, epoch):
        if epoch == epochs:
            raise KeyError(epoch)
        end.write(rows, epoch)

    rows = own.readStream.schema("t timestamp, k string").option("maxFilesPerTrigger", 1)
    counts = (
        rows.json(str(lines))
        .withWatermark("t", "1 second")
        .groupBy(F.window("t", "1 minute"), "k")
        .count()
        .select(F.col("window.start").alias("window_start"), "k", "count")
    )
    checkpoint = directory.checkpoint
    query = counts.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return query


def dropped(query):
    return sum(
        each["numRowsDroppedByWatermark"]
        for progress in epochs_of(query)
        for each in progress["stateOperators"]
    )


@pytest.mark.slow(5)
def test_late_rows_equal_sparks_report_after_a_restart_too(spark, lines, tmp_path):
    with RunDirectory.opened(tmp_path / "whole") as directory:
        query = run(spark, lines, directory)
        late = dropped(query)
        assert directory.commits.total("late") == late > 0
        assert directory.commits.earlier_spans() == {}
    for stop in (1, 2):
        output = tmp_path / str(stop)
        with (
            pytest.raises(Exception, match="KeyError"),
            RunDirectory.opened(output) as directory,
        ):
            run(spark, lines, directory, epochs=stop)
        with RunDirectory.opened(output) as directory:
            run(spark, lines, directory)
            assert directory.commits.total("late") == late
            earlier = Timeline(directory.commits.earlier_spans()).timing()
            assert len(earlier.epoch_ms) == stop
            assert earlier.makespan_ms >= sum(earlier.epoch_ms) * 0.99 > 0


@pytest.mark.slow(3)
def test_a_run_that_lost_its_claim_commits_nothing(spark, lines, tmp_path, monkeypatch):
    monkeypatch.setattr("evenkey.pipeline.runs.output.claims._BEAT_SECONDS", 3600)
    with RunDirectory.opened(tmp_path / "out") as directory:
        sink = FileSink(directory.commits, "parquet")
        write = sink.write

        def woken(results, epoch):
            parts = write(results, epoch)
            if epoch == 1:
                Claim(directory.store, patience=0.2).release()
            return parts

        monkeypatch.setattr(sink, "write", woken)
        with pytest.raises(Exception, match="now belongs to process"):
            run(spark, lines, directory, sink=sink)
        assert directory.commits.epochs() == [0]
        with pytest.raises(RunError, match="now belongs to process"):
            directory.finish({})


@pytest.mark.slow(5)
def test_an_epoch_that_another_has_committed_is_computed_but_not_published(spark, lines, tmp_path):
    with RunDirectory.opened(tmp_path / "out") as directory:
        other = Commits(directory.path, directory.claim.number)
        other.commit(epoch_name(1), {"late": 0, "began": 1.0, "ended": 2.0, "held": 1.0})
        run(spark, lines, directory)
        commit = directory.commits.read(epoch_name(1))
        assert commit is not None
        assert commit.parts == ()
        assert commit.figures["ended"] == 2.0
        assert not directory.store.names(f"results/{epoch_name(1)}")
        assert not directory.store.names(f"state/parts/{epoch_name(1)}")
