"""A user's stream under `planned` is exact, and planned as by `evenkey run`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from evenkey import PipelineConfig, run
from evenkey import spark as operators
from evenkey.core.streams import generated
from evenkey.groupings import KeyCounts
from evenkey.spark import RoutingTables
from evenkey.spark.plans.epoch_statistics import EpochStatistics
from tests.groupings.planned.guarantee import most_uneven
from tests.session import compiled
from tests.spark import oracle
from tests.tiers import most_in_soak

WORKERS, EPOCHS, SOURCES = 10, 4, 2
LEARNED = "planned(planning=previous)"


def peaks_into(peaks, directory, grouping="planned", workers=WORKERS):
    """Return a callback that appends an epoch's max/mean load, from the workers' statistics."""

    def note(epoch):
        store = tables_of(directory, grouping, workers).store
        statistics = EpochStatistics(store)
        # An epoch without rows, which only closes windows, has no statistics.
        reported = statistics.read(statistics.epochs(store.names()).get(epoch, {}))
        loads = [KeyCounts.from_arrays(each.memory).total for each in reported.values()]
        if loads:
            peaks.append(max(loads) * workers / sum(loads))

    return note


def tables_of(directory, grouping="planned", workers=WORKERS):
    """Return the tables of the only query."""
    (query,) = (path for path in (directory / "tables").iterdir() if path.name[0] != "_")
    return RoutingTables(query.parent, grouping, workers).of_query(query.name)


def aggregated(
    session,
    name,
    directory,
    *,
    messages,
    grouping="planned",
    window="1 hour",
    workers=WORKERS,
    epochs=EPOCHS,
    position="position",
):
    """Count a stream by key in a user's query; return counts, tables, and max/mean per epoch."""
    df = oracle.streaming(
        session, generated(name, messages=messages), directory, sources=SOURCES, epochs=epochs
    )
    counts = operators.aggregate(
        df,
        "key",
        grouping,
        workers,
        time="time",
        window=window,
        watermark="1 second",
        max_ahead=None,
        state=directory / "tables",
        position=position,
    )
    peaks: list[float] = []
    query_rows = oracle.run(counts, directory, peaks_into(peaks, directory, grouping, workers))
    return query_rows, tables_of(directory, grouping, workers), peaks


def run_by_command(
    name, directory, *, messages, grouping="planned", workers=WORKERS, epochs=EPOCHS
):
    """Count the same messages by `evenkey run`; return its report and tables."""
    config = PipelineConfig(
        dataset=name,
        messages=messages,
        grouping=grouping,
        workers=workers,
        sources=SOURCES,
        aggregators=2,
        epochs=epochs,
        output=directory,
    )
    report = run(config)
    return report, RoutingTables(directory / "state" / "tables", grouping, workers)


def most(messages, workers=WORKERS):
    """What docs/planned-reference.md says of every epoch of so many messages."""
    return most_uneven(messages, workers, SOURCES)


@pytest.mark.soak
@pytest.mark.classic("compares with the command line's own run")
@pytest.mark.parametrize("name", ["zipf(z=1.4,keys=10000)", "country-skew-r80"])
def test_plans_are_those_of_evenkey_run(session, tmp_path, name):
    """Both plan from the previous epoch alone, and route the same messages."""
    grouping, messages = LEARNED, 40_000
    _, own, peaks = aggregated(
        session, name, tmp_path / "own", messages=messages, grouping=grouping
    )
    report, expected = run_by_command(name, tmp_path / "run", messages=messages, grouping=grouping)
    for number in range(1, EPOCHS):
        ours, theirs = own.read(number).memory, expected.read(number).memory
        # `sent` has the loads of the epoch under the previous plan, rounded to whole messages.
        assert abs(ours["sent"].sum() - messages // EPOCHS) <= WORKERS / 2
        assert sorted(ours) == sorted(theirs)
        for field, array in theirs.items():
            np.testing.assert_array_equal(ours[field], array, err_msg=f"{number} {field}")
    # Spark numbers the sources by its order of files, so split keys are dealt in another order.
    assert peaks == pytest.approx([epoch.max_over_mean for epoch in report.epochs], abs=0.005)
    first = own.read(1).memory["sent"]
    assert first.max() / first.mean() > 2
    assert max(peaks) <= most(messages // EPOCHS)


@pytest.mark.slow(4)
def test_every_epoch_of_a_drifting_stream_is_balanced_and_exact(session, tmp_path):
    """Hot keys change in the middle of the second epoch and of the fourth."""
    name, messages = "drift(z=1.2,keys=10000,every=15000)", 40_000
    grouping = LEARNED
    found, _, peaks = aggregated(
        session, name, tmp_path, messages=messages, grouping=grouping, window="1 minute"
    )
    counts = {
        (row["window"]["start"].timestamp(), row["key"]): row["count"]
        for rows in found.values()
        for row in rows.to_pylist()
    }
    stream = generated(name, messages=messages)
    batch = stream.batch(0, messages)
    starts = batch.times // 60 * 60
    truth = Counter(zip(starts, stream.texts(batch.ids).to_pylist(), strict=True))
    origin = min(start for start, _ in counts)
    closed = {start - origin for start, _ in counts}
    # The last windows are still open.
    assert len(closed) >= len(set(starts)) - 2 > 3
    expected = {group: count for group, count in truth.items() if group[0] in closed}
    assert {(start - origin, key): count for (start, key), count in counts.items()} == expected
    assert max(peaks) <= most(messages // EPOCHS)


@pytest.mark.soak(10)
@pytest.mark.classic("compares with the command line's own run")
def test_without_spreading_rows_are_routed_natively_and_unevenly(session, tmp_path):
    """Without spreading, the streams of the previous tests are unbalanced."""
    grouping = "planned(planning=previous,surprise=none)"
    name, messages = "drift(z=1.2,keys=10000,every=15000)", 40_000
    *_, peaks = aggregated(session, name, tmp_path / "own", messages=messages, grouping=grouping)
    assert max(peaks) > 1.5
    report, _ = run_by_command(name, tmp_path / "run", messages=messages, grouping=grouping)
    assert max(epoch.max_over_mean for epoch in report.epochs) > 1.5


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    "grouping", most_in_soak(["planned", "planned(planning=previous)"], 3, slow=["planned"])
)
def test_a_batch_is_counted_as_spark_counts_it(session, grouping):
    stream = generated("drift(z=1.2,keys=1000,every=3000)", messages=10_000)
    texts = stream.texts(stream.batch(0, 10_000).ids)
    df = session.createDataFrame(pa.table({"key": texts}))
    found = operators.aggregate(df, "key", grouping, WORKERS).toArrow().to_pylist()
    plain = df.groupBy("key").count().toArrow().to_pylist()
    assert Counter(map(tuple, map(dict.values, found))) == Counter(
        map(tuple, map(dict.values, plain))
    )


@pytest.mark.slow(8)
def test_keys_of_any_types_are_planned_and_counted_exactly(session, tmp_path):
    """The key has two columns, one of which is sometimes null, and the query is restarted."""
    stream = generated("country-skew-r80", messages=12_000, rate=40)

    def rows_of(directory, offered=3):
        number = F.col("position")
        df = oracle.streaming(session, stream, directory, epochs=3, offered=offered)
        return df.select(
            "time",
            "position",
            F.when(number % 10 < 6, 7).otherwise(number % 100).alias("Number"),
            F.when(number % 5 > 0, "text").alias("a.b"),
        )

    def counted(rows, window, times):
        return Counter(
            {(row[window], row["Number"], row["a.b"]): row[times] for row in rows.to_pylist()}
        )

    counts = operators.aggregate(
        rows_of(tmp_path, offered=1),
        ["number", "a.b"],
        "planned",
        4,
        time="time",
        window="1 minute",
        max_ahead=None,
        state=tmp_path / "tables",
        position="position",
    ).select(
        F.col("window.start").alias("start"), F.col("number").alias("Number"), "`a.b`", "count"
    )
    peaks: list[float] = []
    note = peaks_into(peaks, tmp_path, workers=4)
    found = oracle.run(counts, tmp_path, note)
    rows_of(tmp_path)
    found |= oracle.run(counts, tmp_path, note)

    plain = F.date_trunc("minute", "time").alias("start")
    (tmp_path / "plain").mkdir()
    every = oracle.run(
        rows_of(tmp_path / "plain"),
        tmp_path / "plain",
        work=lambda batch: batch.groupBy(plain, "Number", "`a.b`").count(),
    )
    expected: Counter[tuple[object, ...]] = sum(
        (counted(rows, "start", "count") for rows in every.values()), Counter()
    )
    totals: Counter[tuple[object, ...]] = sum(
        (counted(rows, "start", "count") for rows in found.values()), Counter()
    )
    closed = {start for start, _, _ in totals}
    assert len(closed) >= 4
    assert totals == {group: n for group, n in expected.items() if group[0] in closed}
    # 48 % of the rows have one key, about the fair load of two of four workers.
    assert len(peaks) == 3
    assert max(peaks) <= most(4000, workers=4)


@pytest.mark.soak(70)
@pytest.mark.timeout(1800)
@pytest.mark.classic("compares with the command line's own run")
@pytest.mark.parametrize(
    ("name", "workers", "epochs", "positions"),
    [
        ("zipf(z=1.4,keys=100000)", 50, 2, ["position", None]),
        ("country-skew-r80", 10, 3, ["position"]),
    ],
)
def test_balance_is_that_of_evenkey_run(spark, session, tmp_path, name, workers, epochs, positions):
    """From the second epoch of 2,000,000 on, max/mean differs by at most 0.01.

    Without positions, split keys are dealt by chance, and the bound is that of chance. Both plan
    from the previous epoch; under `auto` a run would count few keys first, which no stream can.
    """
    epoch = 2_000_000
    messages = epoch * epochs
    given: dict[str, Any] = {"messages": messages, "workers": workers, "epochs": epochs}
    bounds = {"position": 0.01, None: 4.5 * np.sqrt(2 * workers / epoch)}
    with compiled(spark, session):
        report, _ = run_by_command(name, tmp_path / "run", grouping=LEARNED, **given)
        for position in positions:
            directory = tmp_path / str(position)
            *_, peaks = aggregated(
                session, name, directory, grouping=LEARNED, position=position, **given
            )
            assert len(peaks) == epochs
            for number in range(1, epochs):
                apart = abs(peaks[number] - report.epochs[number].max_over_mean)
                assert apart <= bounds[position]
