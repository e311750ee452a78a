"""Event times in streams: rows far ahead are left out and counted; routers still learn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from evenkey import spark as operators
from evenkey.aggregators import Fold
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import parse
from evenkey.spark.plans.epoch_statistics import TaskStatistics
from evenkey.spark.plans.places import mark_at
from evenkey.spark.plans.plan_source import Learned
from evenkey.spark.plans.tables import RoutingTables
from evenkey.spark.routing.tasks import OfRouters, Source
from evenkey.spark.sessions.task_id import TaskId
from tests.epochs import run_epochs
from tests.spark import oracle
from tests.tiers import most_in_soak

if TYPE_CHECKING:
    from evenkey.groupings import Router

ORIGIN, FUTURE, PAST, YEAR_9999 = 1_577_836_800, 4_000_000_000, -62_135_596_800, 253_402_300_799
WINDOW, SECONDS, EPOCHS = "1 minute", 100, 3


@dataclass(frozen=True)
class Rows(Fold):
    """A user's aggregator: the number of rows."""

    name: ClassVar[str] = "rows"
    columns: ClassVar[tuple[str, ...]] = ()
    result = pa.schema([("count", pa.int64())])
    state_type = "long"

    def zero(self):
        return 0

    def add(self, state, _message):
        return state + 1

    def combine(self, first, second):
        return first + second

    def answer(self, state):
        return {"count": state}


class Setting:
    """A stream with epochs of 100 s, each one file and one source, and a query over it."""

    def __init__(self, spark, directory):
        self.spark, self.directory = spark.newSession(), directory
        self.spark.conf.set("spark.sql.shuffle.partitions", "1")
        self.progress = []

    def write(self, epoch, rows):
        """Write rows of (key, seconds since 1970 or None) to an epoch."""
        schema = "key string, seconds long"
        df = self.spark.createDataFrame(rows, schema).coalesce(1)
        time = F.timestamp_seconds("seconds")
        timed = df.select("key", time.alias("time"), time.cast("timestamp_ntz").alias("local"))
        timed.write.mode("append").parquet(str(self.directory / "input" / f"{epoch:02}"))

    def stream(self):
        reader = self.spark.readStream.schema("key string, time timestamp, local timestamp_ntz")
        reader = reader.option("maxFilesPerTrigger", 1).option("recursiveFileLookup", "true")
        return reader.parquet(str(self.directory / "input"))

    def run(self, df, checkpoint="checkpoint"):
        """Run a query; return the rows of all epochs, and the result of `rows_far_ahead`."""
        left_out = []
        epochs = run_epochs(
            df,
            self.directory / checkpoint,
            after_query=lambda query: left_out.append(operators.rows_far_ahead(query)),
        )
        return pa.concat_tables(epochs.values()).to_pylist(), *left_out


@pytest.fixture
def setting(session, tmp_path):
    return Setting(session, tmp_path)


def good(epoch):
    """Make the rows of an epoch with right times, one row per second."""
    return [(f"u{n % 3}", ORIGIN + SECONDS * epoch + n) for n in range(SECONDS)]


def in_order(frame):
    """Return sorted rows as Arrow, since Python has no times after the year 9999."""
    rows = frame.select("window.start", "window.end", "key", "count").toArrow()
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


def counts(rows):
    return Counter({(row["window"]["start"], row["key"]): row["count"] for row in rows})


def expected(epochs, until):
    """Count rows by window and key in plain Python, for the windows that end by a time."""
    found: Counter[tuple[int, str]] = Counter()
    for key, seconds in (row for epoch in range(epochs) for row in good(epoch)):
        start = seconds // 60 * 60
        if start + 60 <= until:
            found[start, key] += 1
    return found


def in_seconds(counted):
    return Counter({(round(start.timestamp()), key): n for (start, key), n in counted.items()})


@pytest.mark.slow(8)
@pytest.mark.parametrize(
    ("grouping", "first"), most_in_soak([("kg", 1), ("dkg", 0)], 8, slow=[("dkg", 0)])
)
def test_rows_far_ahead_are_left_out_and_counted_whatever_comes(setting, grouping, first):
    """Wrong times are in the first epoch's first row or in a later epoch; the query restarts."""
    for epoch in range(EPOCHS):
        setting.write(epoch, good(epoch))
    wrong = [("u0", seconds) for seconds in (FUTURE, YEAR_9999, PAST, 0, None, FUTURE)]
    setting.write(first, wrong)

    def plan():
        return operators.aggregate(
            setting.stream(),
            "key",
            grouping,
            3,
            "count",
            time="time",
            window=WINDOW,
            state=setting.directory / "tables",
        )

    rows, left_out = setting.run(plan())
    assert left_out == 3
    for epoch in (EPOCHS, EPOCHS + 1):
        setting.write(epoch, good(epoch))
    # An epoch with only wrong times does not move the clock.
    setting.write(EPOCHS + 2, [("u0", FUTURE)] * 5)
    more, left_out = setting.run(plan())
    assert left_out == 5
    last = ORIGIN + SECONDS * (EPOCHS + 2) - 1
    found = in_seconds(counts(rows + more))
    late = {place for place in found if place[0] < ORIGIN}
    assert Counter({k: n for k, n in found.items() if k not in late}) == expected(EPOCHS + 2, last)
    assert late <= {(PAST, "u0"), (0, "u0")}


@pytest.mark.slow(3)
def test_without_max_ahead_all_rows_are_taken_in(setting):
    """A stream may have all of its times in the future."""
    later = FUTURE - ORIGIN
    for epoch in range(2):
        setting.write(epoch, [(key, seconds + later) for key, seconds in good(epoch)])

    def plan(max_ahead):
        return operators.aggregate(
            *(setting.stream(), "key", "pkg", 3, Rows()),
            time="time",
            window=WINDOW,
            max_ahead=max_ahead,
        )

    df = plan(None)
    rows, left_out = setting.run(df)
    assert left_out == 0
    assert sum(row["count"] for row in rows) == 180 - later % 60
    with pytest.raises(ConfigurationError, match="max_ahead = 'far'"):
        plan("far")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("zone", "aggregator"),
    [
        ("Europe/Istanbul", "count"),
        pytest.param("America/St_Johns", Rows(), marks=pytest.mark.soak),
    ],
    ids=str,
)
def test_windows_of_times_without_a_zone_are_sparks(session, zone, aggregator):
    own = session.newSession()
    own.conf.set("spark.sql.session.timeZone", zone)
    own.conf.set("spark.sql.shuffle.partitions", "2")
    wrong = (
        f"when id % 100 = 0 then {FUTURE} when id % 100 = 1 then {PAST} when id % 100 = 2 then null"
    )
    df = own.range(0, 2000, 1, 2).selectExpr(
        "concat('u', id % 5) as key",
        f"cast(timestamp_seconds(case {wrong} else {ORIGIN} + id * 997 end) as timestamp_ntz) as t",
        f"timestamp_seconds({ORIGIN} + id * 997) as zoned",
    )
    for time, window in (("t", "1 day"), ("zoned", "1 day")):
        found = operators.aggregate(df, "key", "dkg", 3, aggregator, time=time, window=window)
        plain = df.groupBy(F.window(time, window), "key").count()
        assert found.columns == ["window", "key", "count"]
        assert found.schema["window"] == plain.schema["window"]
        assert [field.dataType for field in found.schema] == [
            each.dataType for each in plain.schema
        ]
        expected = in_order(plain)
        assert in_order(found).cast(expected.schema) == expected


@pytest.mark.slow(5)
@pytest.mark.parametrize(
    "aggregator", ["count", pytest.param(Rows(), marks=pytest.mark.soak(5))], ids=str
)
def test_a_stream_of_times_without_a_zone_has_windows_without_one(setting, aggregator):
    setting.spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    for epoch in range(EPOCHS):
        setting.write(epoch, good(epoch))
    df = operators.aggregate(
        setting.stream(), "key", "dkg", 3, aggregator, time="local", window="1 hour"
    )
    plain = setting.stream().groupBy(F.window("local", "1 hour")).count()
    assert df.schema["window"] == plain.schema["window"]
    assert "end:timestamp_ntz" in df.schema["window"].simpleString()
    # Rows past the end of the window, so that the window closes.
    setting.write(EPOCHS, [("u0", ORIGIN + 7200)])
    setting.write(EPOCHS + 1, [("u0", ORIGIN + 7201)])
    found, left_out = setting.run(df)
    assert left_out == 0
    start = datetime(2020, 1, 1, 5, 0)  # noqa: DTZ001 - without a zone
    keys = Counter(key for epoch in range(EPOCHS) for key, _ in good(epoch))
    assert counts(found) == {(start, key): n for key, n in keys.items()}
    assert {row["window"]["end"] for row in found} == {start + timedelta(hours=1)}


def test_a_source_gives_its_router_times_that_most_rows_confirm():
    seen: list[float] = []

    class Noting:
        """Replaces a router, and records the times that it gets."""

        now = 7.0

        @staticmethod
        def route(keys, times, weights):
            assert weights is None
            seen.extend(times.tolist())
            return np.zeros(len(keys), dtype=np.int32)

    source = Source(cast("Router", Noting()), rate=100)
    nan = np.nan
    for part in ([nan, FUTURE, 10.0], [11.0, 12.0, nan], [YEAR_9999, 11.5, 13.0]):
        source.route(np.arange(3, dtype=np.uint64), np.array(part))
    assert seen == [7.0, FUTURE, FUTURE, 11.0, 12.0, 12.0, 12.0, 12.0, 13.0]


def test_rows_without_times_leave_the_clock_of_the_table_alone(spark, tmp_path):
    tables = RoutingTables(tmp_path, "dkg", 4)
    learning = Learned(tables, mark_at(spark, tables.store), OfRouters(parse("dkg")))
    clocks = []
    for epoch, times in enumerate(([1000.0, 1001.0], [np.nan, np.nan], [np.nan, 1003.0])):
        task = TaskId("query", epoch, 0)
        router = parse("dkg").router(4)
        router.remember(learning.decide(task).memory)
        Source(router, rate=100).route(np.arange(2, dtype=np.uint64), np.array(times))
        learning.report(task, TaskStatistics(router.memory(), {}))
        clocks.append(learning.decide(TaskId("query", epoch + 1, 0)).memory["clock"].tolist())
    assert clocks == [[1000.0, 1015.0, 1.0]] * 3


@pytest.mark.slow(3)
def test_a_stream_routed_by_wrong_times_goes_on_learning(setting):
    """The stream has one source, and the first row of each epoch has a wrong time."""
    for epoch in range(5):
        rows = [
            ("hot" if n % 5 else f"cold {n}", seconds)
            for n, (_, seconds) in enumerate(good(epoch) * 5)
        ]
        setting.write(epoch, [("hot", FUTURE), *sorted(rows, key=lambda row: row[1])])
    df = operators.route(
        setting.stream(), "key", "dkg", 10, time="time", state=setting.directory / "tables"
    )
    rows, _ = setting.run(oracle.with_clues(df))
    tail = rows[-500:]
    loads = np.bincount([row["worker"] for row in tail], minlength=10)
    assert loads.max() < 2 * loads.mean()
