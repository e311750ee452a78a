"""groupBy on streams: windows as in Spark; keys with state stay on the workers of one plan."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from tests.spark import oracle
from tests.tiers import most_in_soak

# Untyped, because of wrong calls and of Spark's own options.
eks: Any = operators
WORKERS = 4  # equals the number of shuffle partitions
EPOCHS, MESSAGES = 3, 3000
OUT = "key string, seen long, task int"


class Seen(StatefulProcessor):
    """Counts the messages of a key, and records the task that they are in."""

    def init(self, handle):
        self.seen = handle.getValueState("seen", "n long")

    def counted(self, key, count):
        before = self.seen.get()[0] if self.seen.exists() else 0
        self.seen.update((before + count,))
        context = TaskContext.get()
        assert context is not None
        return {"key": key[0], "seen": before + count, "task": context.partitionId()}

    def handleInitialState(self, key, initialState, timerValues):  # noqa: ARG002, N802, N803
        assert len(key) == 1
        pandas = isinstance(initialState, pd.DataFrame)
        first = initialState.iloc[0] if pandas else initialState
        assert list(initialState.columns if pandas else first.__fields__) == ["key", "n"]
        self.seen.update((int(first["n"]),))

    def close(self):
        pass


class SeenInPandas(Seen):
    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803
        pieces = list(rows)
        assert list(pieces[0].columns) == ["key", "time"]
        assert len(key) == 1
        yield pd.DataFrame([self.counted(key, sum(map(len, pieces)))])


class SeenInRows(Seen):
    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803
        pieces = list(rows)
        assert list(pieces[0].__fields__) == ["key", "time"]
        yield Row(**self.counted(key, len(pieces)))


def counting_with_state(key, pieces, state):
    count = (state.get[0] if state.exists else 0) + sum(map(len, pieces))
    state.update((count,))
    context = TaskContext.get()
    assert context is not None
    yield pd.DataFrame({"key": [key[0]], "seen": [count], "task": [context.partitionId()]})


@pytest.fixture(scope="module")
def stream():
    return generated("zipf(z=1.2,keys=60)", messages=MESSAGES, rate=20)


def rows_of(session, stream, directory, offered):
    df = oracle.streaming(session, stream, directory, epochs=EPOCHS, offered=offered)
    return df.select("key", "time")


def ways(grouped, initial):
    options = {"outputStructType": OUT, "outputMode": "Update", "timeMode": "None"}
    return {
        "pandas": lambda: grouped.transformWithStateInPandas(
            SeenInPandas(), initialState=initial, **options
        ),
        "rows": lambda: grouped.transformWithState(SeenInRows(), initialState=initial, **options),
        "older": lambda: grouped.applyInPandasWithState(
            counting_with_state, OUT, "n long", "append", "NoTimeout"
        ),
    }


@pytest.mark.slow(4)
@pytest.mark.parametrize("way", most_in_soak(["pandas", "rows", "older"], 4, slow=["rows"]))
def test_keys_with_state_stay_on_their_workers(session, stream, tmp_path, way):
    made = rows_of(session, stream, tmp_path, EPOCHS)
    everything = session.read.schema(made.schema).parquet(str(tmp_path / "input"))
    counts = {row["key"]: row["count"] for row in everything.groupBy("key").count().collect()}
    state = tmp_path / "plans"
    plan = eks.fit(everything, "key", "whole", WORKERS, state=state)
    assert plan.extra_pairs == 0
    begun = everything.groupBy("key").count().select("key", F.lit(1000).alias("n"))
    seen: dict[str, int] = {}
    tasks: dict[str, set[int]] = {}
    for offered in (2, EPOCHS):  # the second query continues after a restart
        source = rows_of(session, stream, tmp_path, offered)
        grouped = eks.groupBy(source, "key", workers=WORKERS, state=state)
        initial = None if way == "older" else eks.groupBy(begun, "key", workers=WORKERS)
        epochs = oracle.run(ways(grouped, initial)[way](), tmp_path)
        for epoch in sorted(epochs):
            for row in epochs[epoch].to_pylist():
                seen[row["key"]] = row["seen"]
                tasks.setdefault(row["key"], set()).add(row["task"])
        # The query does not follow a later plan, which is made from other rows.
        eks.fit(everything.where("key != '0'"), "key", "whole", WORKERS, state=state)
    more = 0 if way == "older" else 1000
    assert seen == {key: count + more for key, count in counts.items()}
    assert {len(each) for each in tasks.values()} == {1}
    loads = [0] * WORKERS
    for key, (task,) in tasks.items():
        loads[task] += counts[key]
    assert sorted(loads) == sorted(plan.loads.tolist())
    with pytest.raises(ConfigurationError, match=r"shuffle\.partitions = 4"):
        ways(eks.groupBy(source, "key", workers=5, state=state), None)[way]()
    session.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        with pytest.raises(ConfigurationError, match=r"workers = 5: .* Spark's state partitions"):
            ways(eks.groupBy(source, "key", workers=5, state=state), None)[way]()
    finally:
        session.conf.set("spark.sql.shuffle.partitions", str(WORKERS))


@pytest.mark.slow(16)
@pytest.mark.parametrize("way", most_in_soak(["pandas", "older"], 16, slow=["pandas"]))
def test_another_plan_on_a_checkpoint_is_refused_before_its_first_batch(
    session, stream, tmp_path, way
):
    state, other = tmp_path / "plans", tmp_path / "other plans"
    begun = session.range(60).selectExpr("cast(id as string) key")
    for place in (state, other):
        eks.fit(begun, "key", "whole", WORKERS, state=place)

    def run(place, offered):
        rows = rows_of(session, stream, tmp_path, offered)
        grouped = eks.groupBy(rows, "key", workers=WORKERS, state=place)
        return oracle.run(ways(grouped, None)[way](), tmp_path)

    assert run(state, 1)
    with pytest.raises(StreamingQueryException) as refused:
        run(other, 2)
    says = str(refused.value)
    assert f"state {other}/whole holds no plan of this query" in says
    assert f"restore {other}/whole/pinned as it was when the query began, or start with" in says
    # The rejected epoch had no effect: with its own plan the query continues.
    assert list(run(state, 2)) == [1]


@pytest.mark.slow(4)
def test_windows_are_spark_s_own(session, stream, tmp_path):
    df = rows_of(session, stream, tmp_path, EPOCHS).withWatermark("time", "1 second")
    keys = [F.window("time", "10 seconds"), "key"]
    counted = eks.groupBy(df, *keys).count()
    closed = [row for rows in oracle.run(counted, tmp_path).values() for row in rows.to_pylist()]
    batch = session.read.schema(df.schema).parquet(str(tmp_path / "input"))
    plain = {
        (row["window"]["start"].timestamp(), row["key"]): row["count"]
        for row in batch.groupBy(*keys).count().toArrow().to_pylist()
    }
    assert len(closed) > 100
    for row in closed:
        assert plain[row["window"]["start"].timestamp(), row["key"]] == row["count"]


@pytest.mark.slow(4)
def test_wrong_calls_on_a_stream(session, stream, tmp_path):
    df = rows_of(session, stream, tmp_path, 1)
    grouped = eks.groupBy(df, "key", workers=WORKERS)
    options = {"outputStructType": OUT, "outputMode": "Update", "timeMode": "None"}
    calls = {
        "applyInPandas: a stream has no end": lambda: grouped.applyInPandas(lambda pdf: pdf, OUT),
        "applyInArrow: a stream has no end": lambda: grouped.applyInArrow(lambda pdf: pdf, OUT),
        "cogroup().applyInPandas: a stream": lambda: grouped.cogroup(grouped).applyInPandas(
            lambda left, _: left, OUT
        ),
        "state = None: it needs the location of the plan": lambda: (
            grouped.transformWithStateInPandas(SeenInPandas(), **options)
        ),
        "pass an instance of StatefulProcessor": lambda: grouped.transformWithState(5, **options),
        "initialState = 5: must be grouped by evenkey": lambda: grouped.transformWithState(
            SeenInRows(), initialState=5, **options
        ),
    }
    for says, call in calls.items():
        with pytest.raises(ConfigurationError) as raised:
            call()
        assert says in str(raised.value)
        assert "\n" not in str(raised.value)
