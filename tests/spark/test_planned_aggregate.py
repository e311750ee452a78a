"""A user's stream under planned grouping is planned as `evenkey run` plans it, and exactly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.pipelines.aggregate import PipelineConfig, run
from evenkey.spark import RoutingTables
from evenkey.streams import generated
from tests.spark import oracle

WORKERS, EPOCHS, SOURCES = 10, 4, 2


def aggregated(session, name, directory, *, messages, grouping="planned", workers=WORKERS):
    """Count a stream's words by key in a user's own query; gives counts and the tables."""
    df = oracle.streaming(
        session, generated(name, messages=messages), directory, sources=SOURCES, epochs=EPOCHS
    )
    counts = operators.aggregate(
        df,
        "key",
        grouping,
        workers,
        time="time",
        window="1 hour",
        watermark="1 second",
        max_ahead=None,
        state=directory / "tables",
        position="position",
    )
    query_rows = oracle.run(counts, directory)
    (query,) = (path for path in (directory / "tables").iterdir() if path.name != "_meeting")
    return query_rows, RoutingTables(query, grouping, workers)


def run_by_command(name, directory, *, messages, grouping="planned", workers=WORKERS):
    """The same messages under `evenkey run`; gives its report and tables."""
    config = PipelineConfig(
        dataset=name,
        messages=messages,
        grouping=grouping,
        workers=workers,
        sources=SOURCES,
        aggregators=2,
        epochs=EPOCHS,
        output=directory,
    )
    report = run(config, prepare=False)
    return report, RoutingTables(directory / "state" / "tables", grouping, workers)


def peak(table):
    """Fullest worker over the mean, of what workers held in the epoch before a table's."""
    sent = table.memory["sent"]
    return sent.max() / sent.mean()


@pytest.mark.classic("compares with the command line's own run")
@pytest.mark.parametrize("name", ["zipf(z=1.4,keys=10000)", "country-skew-r80"])
def test_plans_are_those_of_evenkey_run(session, tmp_path, name):
    """Both from the epoch before alone; the messages and where they go are the same."""
    grouping, messages = "planned(planning=previous)", 40_000
    _, own = aggregated(session, name, tmp_path / "own", messages=messages, grouping=grouping)
    report, expected = run_by_command(name, tmp_path / "run", messages=messages, grouping=grouping)
    for number in range(1, EPOCHS):
        ours, theirs = own.read(number).memory, expected.read(number).memory
        assert ours["sent"].sum() == messages // EPOCHS
        assert sorted(ours) == sorted(theirs)
        for field, array in theirs.items():
            np.testing.assert_array_equal(ours[field], array, err_msg=f"{number} {field}")
        assert peak(own.read(number)) == pytest.approx(report.epochs[number - 1].max_over_mean)
    assert peak(own.read(1)) > 2
    noise = 4.5 * np.sqrt(2 * WORKERS / (messages / EPOCHS))
    assert max(peak(own.read(number)) for number in range(2, EPOCHS)) < 1 + noise


def test_keys_of_any_types_are_planned_and_counted_exactly(session, tmp_path):
    """Two key columns, of which one is null now and then, in a query that is restarted."""
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
    found = oracle.run(counts, tmp_path)
    rows_of(tmp_path)
    found |= oracle.run(counts, tmp_path)

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
    (query,) = (path for path in (tmp_path / "tables").iterdir() if path.name != "_meeting")
    tables = RoutingTables(query, "planned", 4)
    # An epoch without rows, which only closes windows, may have no table.
    _, second, third, *_ = tables.numbers()
    assert peak(tables.read(second)) > 1.8
    assert peak(tables.read(third)) < 1.2


@pytest.mark.soak
@pytest.mark.parametrize("name", ["zipf(z=1.4,keys=10000)", "country-skew-r80"])
def test_balance_is_that_of_evenkey_run(session, tmp_path, name):
    """Epochs of 2,000,000: from the second one on within 0.01."""
    messages = 2_000_000 * EPOCHS
    _, own = aggregated(session, name, tmp_path / "own", messages=messages)
    report, _ = run_by_command(name, tmp_path / "run", messages=messages)
    for number in range(2, EPOCHS):
        assert abs(peak(own.read(number)) - report.epochs[number - 1].max_over_mean) <= 0.01
