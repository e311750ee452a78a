"""The state of a stream moves to a new plan and another number of workers, and stays exact."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from typer.testing import CliRunner

from evenkey import spark as operators
from evenkey.cli import app
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore
from evenkey.spark.groups.group_plans import BY_HASH
from evenkey.spark.plans.tables import RoutingTables
from evenkey.spark.rebalancing import moving, new_state
from evenkey.spark.rebalancing.old_state import unequal_keys
from tests.epochs import run_epochs
from tests.spark.visits import OUT, InPandas, InRows, counted, fired, states, visits
from tests.tiers import most_in_soak

eks: Any = operators
BEFORE, AFTER = 80, 120  # visits of the old query, and of both queries
KINDS = ("seen", "items", "counts")


def with_workers(session, workers):
    """Return another session with as many state partitions as workers."""
    own = session.newSession()
    name = "spark.sql.streaming.stateStore.providerClass"
    own.conf.set(name, session.conf.get(name))
    own.conf.set("spark.sql.shuffle.partitions", str(workers))
    return own


def transformed(grouped, method="transformWithStateInPandas", **options):
    processor = InPandas() if method.endswith("Pandas") else InRows()
    return getattr(grouped, method)(processor, OUT, "Update", "EventTime", **options)


@pytest.fixture(scope="module")
def old(session, tmp_path_factory):
    """Run a query that starts without a plan; return its checkpoint and the timers that expired."""
    place = tmp_path_factory.mktemp("old")
    own = with_workers(session, 2)
    grouped = eks.groupBy(visits(own, place, BEFORE), "user", workers=2, state=place / "plans")
    return place / "checkpoint", fired(run_epochs(transformed(grouped), place / "checkpoint"))


def go_on(session, place, moved, stop, *keys, **options):
    """Run the new query with the state in a directory; return the timers that expired."""
    own = with_workers(session, moved.workers)
    rows = visits(own, place, stop, moved.positions[0])
    grouped = eks.groupBy(rows, *keys, workers=moved.workers, state=place / "state")
    return fired(run_epochs(transformed(grouped, **options), place / "checkpoint"))


@pytest.mark.slow(25)
def test_states_and_timers_move_to_other_workers(session, old, tmp_path):
    checkpoint, expired = old
    whole = counted(BEFORE)
    moved = eks.rebalance(session, checkpoint, state=tmp_path / "state", workers=3)
    assert moved.positions == (json.dumps({"position": BEFORE}),)
    assert moved.states == sum(len(whole[name]) for name in KINDS)
    assert moved.timers == len(whole["timers"])
    expired = expired + go_on(session, tmp_path, moved, AFTER, "user")
    whole = counted(AFTER)
    assert sorted(expired) == sorted(whole.pop("fired"))
    assert states(session, tmp_path / "checkpoint") == whole
    placed = session.read.format("statestore").option("stateVarName", "seen")
    loads = placed.load(str(tmp_path / "checkpoint")).groupBy("partition_id").count().collect()
    assert {row["partition_id"] for row in loads} == {0, 1, 2}


def origin_of(state, folder=""):
    """Return what a plan for two workers in a state directory says that it was made from."""
    tables = RoutingTables(state / "whole" / folder, "whole", 2)
    table = tables.find(0)
    assert table is not None
    return json.loads(str(table.memory["about"]))["origin"]


@pytest.mark.soak(14)
def test_a_moved_query_restarts_and_moves_again(session, old, tmp_path):
    """Its processor gets rows, its key is an expression, and its loads are read from its state."""
    checkpoint, expired = old
    moved = eks.rebalance(session, checkpoint, state=tmp_path / "state", cost="seen.n")
    assert moved.workers == 2
    assert origin_of(checkpoint.parent / "plans", "pinned") == BY_HASH
    assert origin_of(tmp_path / "state") == (
        f"the state after batch {moved.batch} of checkpoint {checkpoint}"
    )
    options = {"method": "transformWithState"}
    user = F.concat("user", F.lit("")).alias("user")
    for stop in (BEFORE + 20, AFTER):
        expired = expired + go_on(session, tmp_path, moved, stop, user, **options)
        # The same call returns the same record.
        assert eks.rebalance(session, checkpoint, state=tmp_path / "state", workers=2) == moved
        with pytest.raises(ConfigurationError, match=r"were planned by cost = 'seen.n': pass the"):
            eks.rebalance(session, checkpoint, state=tmp_path / "state", cost="seen.last")
    # The hot key alone has a third of the visits, so that a balanced plan exists.
    placed = session.read.format("statestore").option("stateVarName", "seen")
    rows = placed.load(str(tmp_path / "checkpoint")).collect()
    loads: Counter[int] = Counter()
    for row in rows:
        loads[row.partition_id] += counted(BEFORE)["seen"][row.key[0]][0]
    assert max(loads.values()) <= 0.55 * BEFORE
    place = tmp_path / "again"
    again = eks.rebalance(session, tmp_path / "checkpoint", state=place / "state", workers=4)
    assert again.positions == (json.dumps({"position": AFTER}),)
    expired += go_on(session, place, again, AFTER + 20, user, **options)
    whole = counted(AFTER + 20)
    assert sorted(expired) == sorted(whole.pop("fired"))
    assert states(session, place / "checkpoint") == whole


@pytest.mark.soak(6)
def test_a_query_of_spark_s_own_group_by_moves_to_one_worker(session, tmp_path):
    """One worker needs no plan, but the state."""
    own = with_workers(session, 2)
    rows = visits(own, tmp_path, BEFORE)
    plain = transformed(rows.groupBy("user"))
    expired = fired(run_epochs(plain, tmp_path / "old"))
    moved = eks.rebalance(own, tmp_path / "old", state=tmp_path / "state", workers=1)
    expired += go_on(session, tmp_path, moved, AFTER, "user")
    whole = counted(AFTER)
    assert sorted(expired) == sorted(whole.pop("fired"))
    assert states(session, tmp_path / "checkpoint") == whole


class Stop(BaseException):
    """The process is killed."""


class Steps:
    """Counts the steps of a move that change files, and kills the process before or after one."""

    def __init__(self, monkeypatch, last, *, after):
        self.left, self.after = last, after
        for owner, name in (
            (LocalStore, "put"),
            (LocalStore, "create"),
            (moving, "write_states"),
            (new_state, "unequal_keys"),
        ):
            monkeypatch.setattr(owner, name, self.counting(getattr(owner, name)))

    def counting(self, step):
        def counted_step(*given, **named):
            self.left -= 1
            last = not self.left
            if last and not self.after:
                raise Stop
            result = step(*given, **named)
            if last:
                raise Stop
            return result

        return counted_step


@pytest.mark.slow(6)
@pytest.mark.classic("steps are counted in the process of the driver")
@pytest.mark.parametrize("after", most_in_soak([False, True], 6, slow=[True]))
def test_a_move_that_is_killed_at_any_step_begins_again(session, old, tmp_path, monkeypatch, after):
    checkpoint, _ = old
    state = tmp_path / "state"
    own = with_workers(session, 3)
    grouped = eks.groupBy(visits(own, tmp_path, AFTER), "user", workers=3, state=state)
    killed = 0
    for last in range(1, 20):
        with monkeypatch.context() as patch:
            Steps(patch, last, after=after)
            try:
                moved = eks.rebalance(own, checkpoint, state=state, workers=3)
                break
            except Stop:
                killed += 1
        if (state / "rebalanced/record.json").exists():
            continue
        if (state / "rebalanced").exists():
            # A query never begins with a part of the state.
            with pytest.raises(RunError, match="is incomplete, because rebalance was stopped"):
                transformed(grouped)
    assert killed == 4
    whole = counted(BEFORE)
    assert moved.states == sum(len(whole[name]) for name in KINDS)
    assert moved == eks.rebalance(own, checkpoint, state=state)
    folders = {each.name for each in (state / "rebalanced").iterdir() if each.is_dir()}
    assert folders == {Path(moved.folder).name}
    rows = own.read.parquet(str(state / moved.folder))
    number = [each.name for each in moved.variables].index("seen")
    seen = rows.where(f"variable = {number}").select("key_0", f"content_{number}.n").collect()
    assert dict(map(tuple, seen)) == {user: n for user, (n, _) in whole["seen"].items()}
    assert rows.where("timer is not null").count() == len(whole["timers"])


def copied(old, place):
    """Copy the checkpoint of the old query, to change the copy."""
    return Path(shutil.copytree(old[0], place / "old"))


def with_operator(old, place, **changes):
    """Return a checkpoint whose operator has other properties."""
    checkpoint = copied(old, place)
    (file,) = (checkpoint / "state/0/_metadata/v2").glob("[0-9]*")
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    text = file.read_text()
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    file.write_text(text)
    return checkpoint


def with_source(old, place, offset):
    checkpoint = copied(old, place)
    file = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda each: int(each.name))
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:2], offset]))
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    return checkpoint


def with_batch(old, place):
    """Return a checkpoint in which another batch has begun."""
    checkpoint = copied(old, place)
    numbers = [int(each.name) for each in (checkpoint / "offsets").glob("[0-9]*")]
    shutil.copy(checkpoint / f"offsets/{max(numbers)}", checkpoint / f"offsets/{max(numbers) + 1}")
    return checkpoint


REFUSED = {
    "a batch that is not committed": (
        with_batch,
        "is not committed, because the query is running or was stopped within it: stop the query",
    ),
    "a file source": (
        lambda old, place: with_source(old, place, '{"logOffset":0}'),
        'source 0 of the query ended at {"logOffset":0}; a new query can only begin there in',
    ),
    "an older operator": (
        lambda old, place: with_operator(
            old, place, transformWithStateInPandasExec="applyInPandasWithState"
        ),
        "applyInPandasWithState has no initial state in Spark; once, start transformWithState",
    ),
    "another operator": (
        lambda old, place: with_operator(
            old, place, transformWithStateInPandasExec="stateStoreSave"
        ),
        "the query has stateStoreSave, and rebalance moves a query with one operator with state",
    ),
    "a time to live": (
        lambda old, place: with_operator(
            old, place, **{'ttlEnabled\\":false': 'ttlEnabled\\":true'}
        ),
        "has a time to live, which Spark counts from the last write",
    ),
    "no checkpoint": (lambda _, place: place / "nothing", "there is no checkpoint of a stream"),
}


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_moved_is_refused_in_one_line(session, old, tmp_path, name):
    made, says = REFUSED[name]
    with pytest.raises(ConfigurationError) as refused:
        eks.rebalance(session, made(old, tmp_path), state=tmp_path / "state")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "state").exists()


@pytest.mark.slow(8)
def test_wrong_calls(session, old, tmp_path):
    checkpoint, state = old[0], tmp_path / "state"
    (tmp_path / "other").mkdir()
    (tmp_path / "other/notes.txt").write_text("mine")
    moved = eks.rebalance(session, checkpoint, state=state, workers=3)
    own = with_workers(session, 3)
    rows = visits(own, tmp_path, AFTER)
    grouped = eks.groupBy(rows, "user", workers=3, state=state)
    twice = with_workers(session, 2)
    other = eks.groupBy(visits(twice, tmp_path, AFTER), "user", workers=2, state=state)
    by_item = eks.groupBy(rows, "position", workers=3, state=state)
    initial = eks.groupBy(
        rows.sparkSession.createDataFrame([("a", 1)], "user string, n long"), "user"
    )

    def again(**given):
        return lambda: eks.rebalance(session, checkpoint, **{"state": state, **given})

    calls = {
        "workers = 0: there must be at least 1 worker": again(workers=0),
        "state = None: must be a path": again(state=None),
        "cost = 5: must be text": again(cost=5),
        "cost = 'nothing.n':": again(cost="nothing.n", state=tmp_path / "a"),
        "cost = 'seen.last' is of type timestamp": again(cost="seen.last", state=tmp_path / "b"),
        "for 3 workers: pass another state": again(workers=4),
        "cost = 'seen.n': the keys in state": again(cost="seen.n"),
        "is not empty, as it holds notes.txt": again(state=tmp_path / "other"),
        "workers = 2: rebalance made the plan in": lambda: transformed(other),
        "and this query has keys of the types bigint": lambda: transformed(by_item),
        "leave initialState out": lambda: transformed(grouped, initialState=initial),
        "timeMode = 'None': state": lambda: grouped.transformWithStateInPandas(
            InPandas(), OUT, "Update", "None"
        ),
        "with which this method cannot begin": lambda: grouped.applyInPandasWithState(
            no_rows, OUT, "n long", "append", "NoTimeout"
        ),
    }
    for says, call in calls.items():
        with pytest.raises(ConfigurationError) as refused:
            call()
        assert says in str(refused.value)
        assert "\n" not in str(refused.value)
    # The state belongs to another query, and the old one runs on.
    changed = copied(old, tmp_path)
    (changed / "metadata").write_text('{"id":"another"}')
    with pytest.raises(ConfigurationError, match="for 3 workers: pass another state"):
        eks.rebalance(session, changed, state=state)
    on = with_batch(old, tmp_path / "on")
    with pytest.raises(ConfigurationError, match="the old query has run on to batch"):
        eks.rebalance(session, on, state=state)
    record = state / "rebalanced/record.json"
    record.write_text(record.read_text().replace(str(checkpoint), str(on)))
    with pytest.raises(ConfigurationError, match="the old query has run on to batch"):
        transformed(grouped)
    assert moved.workers == 3


def no_rows(key, rows, state):
    del key, rows, state
    return iter([])


@pytest.mark.slow(3)
@pytest.mark.classic("the step is changed in the process of the driver")
def test_a_query_that_runs_on_while_its_state_is_read_is_noticed(
    session, old, tmp_path, monkeypatch
):
    checkpoint = copied(old, tmp_path)
    write = new_state.write_states

    def meanwhile(*given):
        written = write(*given)
        last = max(int(each.name) for each in (checkpoint / "offsets").glob("[0-9]*"))
        for folder in ("offsets", "commits"):
            shutil.copy(checkpoint / folder / str(last), checkpoint / folder / str(last + 1))
        return written

    monkeypatch.setattr(moving, "write_states", meanwhile)
    with pytest.raises(ConfigurationError, match="the old query has run on to batch"):
        eks.rebalance(session, checkpoint, state=tmp_path / "state")
    monkeypatch.undo()
    rows = visits(with_workers(session, 2), tmp_path, AFTER)
    with pytest.raises(RunError, match="is incomplete"):
        transformed(eks.groupBy(rows, "user", workers=2, state=tmp_path / "state"))


class Narrow(StatefulProcessor):
    """Declares a variable of the old query with another type."""

    def init(self, handle):
        handle.getValueState("seen", "n int")
        for name in ("items", "counts"):
            handle.deleteIfExists(name)

    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803 - Spark's names
        yield pd.DataFrame({"user": [key[0]], "n": [0], "due": [0]})

    def close(self):
        pass


@pytest.mark.soak(12)
def test_a_processor_with_other_types_fails_before_the_first_rows(session, old, tmp_path):
    checkpoint = copied(old, tmp_path)
    moved = eks.rebalance(session, checkpoint, state=tmp_path / "state")
    own = with_workers(session, moved.workers)
    rows = visits(own, tmp_path, AFTER, moved.positions[0])
    grouped = eks.groupBy(rows, "user", workers=moved.workers, state=tmp_path / "state")
    result = grouped.transformWithStateInPandas(Narrow(), OUT, "Update", "EventTime")
    with pytest.raises(StreamingQueryException) as refused:
        run_epochs(result, tmp_path / "failed")
    assert "'seen' is declared as value of struct<n:int>, and in the old query it was" in str(
        refused.value
    )
    # No batch is committed, so the old query is still valid. If it runs on, no new one may begin.
    later = checkpoint / f"offsets/{moved.batch + 1}"
    shutil.copy(checkpoint / f"offsets/{moved.batch}", later)
    with pytest.raises(StreamingQueryException, match="the old query has run on to batch"):
        go_on(session, tmp_path, moved, AFTER, "user")
    later.unlink()
    # The state is as it was: with the right processor a query begins with it.
    assert go_on(session, tmp_path, moved, AFTER, "user")
    whole = counted(AFTER)
    del whole["fired"]
    assert states(session, tmp_path / "checkpoint") == whole


@pytest.mark.soak(12)
def test_a_query_on_one_worker_begins_only_if_the_old_one_has_ended(session, old, tmp_path):
    """On one worker no plan is pinned. Once the query has begun, the old checkpoint is free."""
    checkpoint, expired = copied(old, tmp_path), old[1]
    moved = eks.rebalance(session, checkpoint, state=tmp_path / "state", workers=1)
    later = checkpoint / f"offsets/{moved.batch + 1}"
    own = with_workers(session, 1)
    rows = visits(own, tmp_path, AFTER, moved.positions[0])
    result = transformed(eks.groupBy(rows, "user", workers=1, state=tmp_path / "state"))
    shutil.copy(checkpoint / f"offsets/{moved.batch}", later)
    with pytest.raises(StreamingQueryException, match="the old query has run on to batch"):
        run_epochs(result, tmp_path / "failed")
    later.unlink()
    expired = expired + go_on(session, tmp_path, moved, AFTER, "user")
    shutil.copy(checkpoint / f"offsets/{moved.batch}", later)
    expired += go_on(session, tmp_path, moved, AFTER + 20, "user")
    whole = counted(AFTER + 20)
    assert sorted(expired) == sorted(whole.pop("fired"))
    assert states(session, tmp_path / "checkpoint") == whole


class Later(StatefulProcessor):
    """Sets a timer of processing time, which expires in a later batch than that of its rows."""

    def init(self, handle):
        self.handle = handle
        self.rows = handle.getValueState("rows", "n long")

    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803 - Spark's names
        before = self.rows.get()[0] if self.rows.exists() else 0
        self.rows.update((before + sum(map(len, rows)),))
        self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 1)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):  # noqa: N802, N803
        assert expiredTimerInfo.getExpiryTimeInMs() <= timerValues.getCurrentProcessingTimeInMs()
        yield pd.DataFrame({"user": [key[0]], "n": [self.rows.get()[0]], "due": [0]})

    def close(self):
        pass


def one_batch(session, grouped, place, name):
    """Run one batch of a query, and return the rows that it wrote."""
    result = grouped.transformWithStateInPandas(Later(), OUT, "Append", "ProcessingTime")
    writer = result.writeStream.format("parquet").trigger(once=True)
    query = writer.option("checkpointLocation", str(place / name)).start(str(place / f"{name}-out"))
    query.awaitTermination()
    return session.read.schema(OUT).parquet(str(place / f"{name}-out")).collect()


@pytest.mark.soak(8)
def test_timers_of_processing_time_expire_in_the_new_query(session, tmp_path):
    own = with_workers(session, 2)
    grouped = eks.groupBy(visits(own, tmp_path, BEFORE), "user", workers=2, state=tmp_path / "plan")
    assert one_batch(own, grouped, tmp_path, "old") == []
    moved = eks.rebalance(own, tmp_path / "old", state=tmp_path / "state", workers=3)
    whole = counted(BEFORE)["seen"]
    assert (moved.states, moved.timers) == (len(whole), len(whole))
    wider = with_workers(session, 3)
    rows = visits(wider, tmp_path, AFTER, moved.positions[0])
    grouped = eks.groupBy(rows, "user", workers=3, state=tmp_path / "state")
    found = one_batch(wider, grouped, tmp_path, "new")
    # Each timer of the old query expires once, after the rows of the batch were added.
    after = counted(AFTER)["seen"]
    assert sorted((row.user, row.n) for row in found) == sorted(
        (user, after[user][0]) for user in whole
    )


@pytest.mark.slow(2)
def test_keys_are_refused_that_are_not_equal_to_themselves_in_pandas(session):
    """Spark groups the rows that Python gets by such a comparison."""
    values = {
        "bigint": "null",
        "double": "'NaN'",
        "float": "null",
        "timestamp": "null",
        "date": "null",
        "decimal(5,2)": "null",
        "binary": "null",
        "int": "1",
        "timestamp_ntz": "null",
    }
    columns = [f"cast({value} as {kind}) as `{kind}`" for kind, value in values.items()]
    df = session.range(2).selectExpr(*columns)
    one, other = df.toPandas().itertuples(index=False)
    equal = [(a,) == (b,) for a, b in zip(one, other, strict=True)]
    conditions = [unequal_keys(df, [name]).alias(name) for name in df.columns]
    assert [not each for each in df.select(*conditions).first()] == equal
    assert True in equal
    assert False in equal


@pytest.mark.slow(3)
@pytest.mark.classic("the command starts a classic session")
def test_the_command_says_where_the_new_query_begins(session, old, tmp_path):
    arguments = ["rebalance", str(old[0]), str(tmp_path / "state"), "--workers", "3"]
    printed = CliRunner().invoke(app, arguments)
    assert printed.exit_code == 0
    position = json.dumps({"position": BEFORE})
    assert f"startingOffsets: {position}\n" in printed.stdout
    assert f"workers=3, state='{tmp_path / 'state'}'" in printed.stdout
    as_json = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert as_json["positions"] == [position]
    moved = eks.rebalance(session, old[0], state=tmp_path / "state")
    assert (as_json["states"], as_json["timers"]) == (moved.states, moved.timers)
    wrong = CliRunner().invoke(app, ["rebalance", str(tmp_path), str(tmp_path / "other")])
    assert wrong.exit_code == 2
    *steps, line = wrong.stderr.splitlines()
    assert line.startswith("error: checkpoint = ")
    assert all(each.startswith("rebalance: ") for each in steps)
