"""The state of a join in a store: few requests, any order of names, an error if not shared."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore
from evenkey.joins import StaticStore, balanced_join, refresh
from evenkey.joins.balance.distributor import DynamicDistributor
from evenkey.joins.balance.epoch_log import KEPT, EpochLog, SlotRecord
from evenkey.joins.balance.epoch_plans import EpochPlans
from evenkey.joins.matching.by_key import KeyedJoin
from evenkey.joins.matching.on import Keys
from evenkey.joins.matching.partition_join import HASH, PARTITION
from evenkey.joins.sides.write_tasks import CommitTask, WriteTask
from evenkey.joins.tasks.join_task import JoinTask
from evenkey.spark.sessions.task_id import TaskId
from tests.joins.stores import COUNTED, AwayStore, CountingStore, SlowStore

PARTITIONS, WORKERS = 8, 4
SCHEMA = pa.schema([("k", pa.int64()), (HASH, pa.int64()), ("v", pa.int64())])
ROWS = pa.table(
    {"k": range(8), HASH: range(8), "v": range(8), PARTITION: pa.array(range(8), pa.int32())}
)


def write(static, rows=ROWS, **changes):
    """Write a version of the static side with Spark's tasks, all run in this process."""
    writer = static.begin()
    written = list(WriteTask(writer, Keys(("k",)))(rows.to_batches()))
    return writer, commit(static, writer, written, **changes)


def commit(static, writer, written, **changes):
    options = {
        "partitions": PARTITIONS,
        "partitioning": {},
        "columns": {"k": "bigint", "v": "bigint"},
        "schema": SCHEMA,
        **changes,
    }
    (batch,) = CommitTask(static, writer, index=False, **options)(written)
    (outcome,) = batch.to_pylist()
    return outcome


def planner_at(state, static=None):
    static = static or StaticStore(state.under("static"))
    manifest = static.manifest(static.latest())
    return EpochPlans(
        epochs=state.under("epochs"),
        static=static.written_by(manifest.host),
        partitions=PARTITIONS,
        workers=WORKERS,
        distributor=DynamicDistributor(forced=(2,)),
        event_time=False,
        batch_version=manifest.version,
        shape=manifest.shape,
    )


@pytest.fixture
def state(tmp_path):
    state = CountingStore(tmp_path / "state")
    write(StaticStore(state.under("static")))
    return state


def run_slots(planner, epoch, monkeypatch, slots=range(WORKERS), *, cache_static=True):
    """Run the joining tasks of an epoch in turn; return each task's requests, and the pairs."""
    task = JoinTask(
        KeyedJoin(("k",), ("n",), "inner"),
        planner,
        cache_bytes=1 << 20,
        cache_static=cache_static,
        time=None,
    )
    asked: list[dict[str, int]] = []
    found: list[tuple[int, int]] = []
    owners = planner.recall(TaskId("q", epoch, 0)).owners
    for slot in slots:
        mine = [number for number in range(PARTITIONS) if owners[number] == slot]
        rows = ROWS.take(pa.array(mine)).drop_columns(["v"]).append_column("n", pa.array(mine))
        monkeypatch.setattr(
            "evenkey.joins.balance.epoch_plans.current_task",
            lambda slot=slot: TaskId("q", epoch, slot),
        )
        COUNTED.clear()
        for batch in task(rows.to_batches()):
            found += zip(batch["k"].to_pylist(), batch["v"].to_pylist(), strict=True)
        asked.append(dict(COUNTED))
    return asked, sorted(found)


def test_requests_of_a_task_do_not_grow_with_workers_partitions_or_epochs(state, monkeypatch):
    planner = planner_at(state)
    for epoch in range(5):
        COUNTED.clear()
        planner.decide(TaskId("q", epoch, 0))
        decided = dict(COUNTED)
        if epoch > 1:
            # It reads two plans, a record of each slot, and the files of this version and the next.
            assert decided == {"read": 2 + WORKERS + 2, "names": 1, "create": 1}
        asked, found = run_slots(planner, epoch, monkeypatch)
        assert found == [(number, number) for number in range(PARTITIONS)]
        if epoch in (1, 3, 4):  # epochs in which no partition had to be loaded
            assert asked == [{"read": 1, "put": 1}] * WORKERS


def test_partitions_that_are_loaded_cost_a_request_each(state, monkeypatch):
    planner = planner_at(state)
    planner.decide(TaskId("q", 0, 0))
    for _ in range(2):
        asked, _ = run_slots(planner, 0, monkeypatch, cache_static=False)
        assert asked == [{"read": 1 + PARTITIONS // WORKERS, "put": 1}] * WORKERS


def test_the_log_forgets_by_one_request_a_task(state):
    planner = planner_at(state)
    log = planner.log("q")
    log.record(0, SlotRecord(0, {0: (5, 0.1, 0)}, {}))
    log.settle(planner.decide(TaskId("q", 0, 0)))
    later = replace(planner.decide(TaskId("q", 0, 0)), epoch=KEPT)
    COUNTED.clear()
    log.settle(later)
    log.record(KEPT, SlotRecord(0, {0: (5, 0.1, 0)}, {}))
    assert dict(COUNTED) == {"create": 1, "put": 1, "delete": 2}
    assert log.store.names() == [f"epoch={KEPT:010d}/slot-00000.json", f"plan-{KEPT:010d}.json"]


def test_the_log_is_read_from_where_a_reader_is(state):
    log = EpochLog(state.under("epochs").under("q"))
    for epoch in (0, 1, 2, 4):
        log.record(epoch, SlotRecord(0, {}, {}))
    assert log.epochs() == [0, 1, 2, 4]
    assert log.epochs(after=0) == [1, 2]
    assert log.epochs(after=4) == []


def test_the_newest_version_is_found_from_one_that_is_known_without_a_list(state):
    static = StaticStore(state.under("static"))
    first = static.latest()
    COUNTED.clear()
    assert static.latest(first) == first
    assert dict(COUNTED) == {"read": 2}
    versions = [write(static)[0].version for _ in range(3)]
    assert static.latest(first) == static.latest() == versions[-1]
    static.clear()
    again = write(static)[0].version
    assert static.latest(versions[-1]) == static.latest(first) == again


def test_a_plan_is_decided_once_for_all_tasks(state):
    planner = planner_at(state)
    first = planner.decide(TaskId("q", 0, 0))
    write(planner.static)
    late = planner.log("q")
    assert late.settle(replace(first, clock=1.0)) == first
    assert planner.decide(TaskId("q", 0, 0)) == planner.recall(TaskId("q", 0, 3)) == first
    assert planner.decide(TaskId("q", 1, 0)).version.number == 2


def test_a_partition_that_two_tasks_write_is_what_the_first_one_wrote(tmp_path):
    static = StaticStore(tmp_path)
    writer = static.begin()
    rows = pa.table({"k": [1, 2, 3]})
    one, lying = writer.write(0, rows)
    other, still = writer.write(0, rows.take([2, 0, 1]))
    assert one == other
    assert lying.to_pylist() == still.to_pylist() == rows.to_pylist()


def test_a_version_that_is_committed_once_more_is_the_same_one(state):
    static = StaticStore(state.under("static"))
    writer, _ = write(static)
    rows = list(WriteTask(writer, Keys(("k",)))(ROWS.to_batches()))
    assert commit(static, writer, rows)["error"] is None
    assert static.versions() == [1, 2]
    assert static.read(writer.version, 3)["k"].to_pylist() == [3]


@pytest.fixture
def hosts(monkeypatch):
    """Return a function that pretends that this process runs on a host."""

    def on(name):
        monkeypatch.setattr(platform, "node", lambda: name)

    return on


def one_line(error):
    return "\n" not in error and "driver and all executors share" in error and "state=" in error


def test_a_task_on_a_host_that_does_not_share_the_state_writes_nothing(tmp_path, hosts):
    hosts("driver")
    writer = StaticStore(tmp_path / "driver").begin()
    hosts("worker2")
    writer.store = LocalStore(tmp_path / "worker2")
    (written,) = WriteTask(writer, Keys(("k",)))(ROWS.to_batches())
    (row,) = written.to_pylist()
    assert row["error"].startswith(
        f"host worker2 does not see what host driver wrote at {tmp_path / 'worker2'}/begun.json"
    )
    assert one_line(row["error"])
    assert not (tmp_path / "worker2").exists()
    outcome = commit(StaticStore(tmp_path / "driver"), writer, [written])
    assert (outcome["error"], outcome["failed"]) == (row["error"], True)


def test_partitions_that_another_host_wrote_for_itself_make_no_version(tmp_path, hosts):
    """Both hosts have the directory and the begin file, but each sees only its own parts."""
    hosts("worker1")
    static = StaticStore(tmp_path / "worker1")
    writer = static.begin()
    hosts("worker2")
    there = StaticStore(tmp_path / "worker2")
    other = there.begin()
    other.store, home = there.store.under(static.folder(writer.version)), writer.store
    other.store.put("begun.json", b"{}")
    written = list(WriteTask(other, Keys(("k",)))(ROWS.to_batches()))
    hosts("worker1")
    outcome = commit(static, writer, written)
    assert outcome["error"].startswith(
        f"host worker1 does not see what host worker2 wrote at {home.path('p00000.parquet')}"
    )
    assert one_line(outcome["error"])
    assert static.versions() == []


def apart(planner, root):
    """Return the planner as on a host where the directory is on another disk."""
    static = StaticStore(LocalStore(root / "static")).written_by("driver")
    return replace(planner, static=static, epochs=LocalStore(root / "epochs"))


def test_a_host_that_does_not_see_the_static_data_decides_nothing(tmp_path, hosts):
    hosts("driver")
    state = LocalStore(tmp_path / "driver")
    write(StaticStore(state.under("static")))
    planner = apart(planner_at(state), tmp_path / "worker2")
    hosts("worker2")
    for query in ("q", "batch"):
        with pytest.raises(RunError) as raised:
            planner.decide(TaskId(query, 0, 0))
        message = str(raised.value)
        where = tmp_path / "worker2" / "static" / "v1.json"
        assert message.startswith(f"host worker2 does not see what host driver wrote at {where}")
        assert one_line(message)
    assert not (tmp_path / "worker2" / "epochs").exists()


def test_a_host_that_does_not_see_the_plan_joins_nothing(tmp_path, hosts, monkeypatch):
    hosts("driver")
    state = LocalStore(tmp_path / "driver")
    write(StaticStore(state.under("static")))
    planner = planner_at(state)
    planner.decide(TaskId("q", 0, 0))
    hosts("worker2")
    for shared_static in (False, True):
        other = apart(planner, tmp_path / "worker2")
        if shared_static:  # seeing the static side is not enough
            other = replace(other, static=planner.static)
        with pytest.raises(RunError, match="host worker2 does not see what") as raised:
            run_slots(other, 0, monkeypatch, [1])
        assert one_line(str(raised.value))
    assert not (tmp_path / "worker2").exists()


def test_what_is_deleted_is_said_to_be_on_the_host_that_wrote_it(tmp_path, hosts):
    hosts("driver")
    state = LocalStore(tmp_path)
    write(StaticStore(state.under("static")))
    planner = planner_at(state)
    planner.static.clear()
    with pytest.raises(RunError, match=r"no longer in .* it was deleted"):
        planner.decide(TaskId("q", 0, 0))


def test_a_store_that_is_away_is_named(tmp_path):
    state = AwayStore(tmp_path / "state")
    write(StaticStore(state.under("static")))
    planner = planner_at(state)
    (tmp_path / "state" / "away").touch()
    with pytest.raises(RunError, match=r"v1\.json cannot be read \(the store is away\)"):
        planner.decide(TaskId("batch", 0, 0))


@pytest.fixture(scope="module")
def sides(session):
    number = F.col("id")
    stream = session.range(300).select((number % 20).alias("k"), number.alias("n"))
    static = session.range(30).select((number % 15).alias("k"), number.alias("v"))
    return stream, static


@pytest.mark.slow(3)
def test_a_join_over_a_slow_store_is_exact_and_a_uri_is_a_path(
    sides, stream_of_files, run_to_end, tmp_path
):
    stream, static = sides
    source = stream_of_files(stream)
    joined = balanced_join(
        source,
        static,
        "k",
        workers=2,
        state=SlowStore(tmp_path / "join"),
        distributor=DynamicDistributor(forced=(1,)),
    )

    def after_epoch(epoch):
        if epoch == 0:
            # The same directory, given as a URI.
            uri = (tmp_path / "join").as_uri()
            assert refresh(static.withColumn("v", F.col("v") + 100), uri) == 2

    parts = run_to_end(joined, after_epoch)
    old = stream.join(static, "k").select("k", "n", "v")
    found = sorted(
        (row["n"], row["v"] - 100 * (epoch > 0)) for epoch in parts for row in parts[epoch]
    )
    assert found == sorted((row.n, row.v) for row in old.collect())
    assert {row["v"] < 100 for row in parts[0]} == {True}
    (query,) = (tmp_path / "join" / "epochs").iterdir()
    plans = [EpochLog(query).plan(epoch) for epoch in range(3)]
    assert [plan and plan.redistributions for plan in plans] == [0, 1, 1]
    assert not (Path.cwd() / "file:").exists()


def test_a_scheme_without_a_store_is_refused(sides):
    stream, static = sides
    with pytest.raises(ConfigurationError, match="no store is known for gopher://"):
        balanced_join(stream, static, "k", workers=2, state="gopher://bucket/join")
    assert not (Path.cwd() / "gopher:").exists()


@pytest.mark.slow(4)
def test_a_relative_state_is_where_the_program_runs(sides, tmp_path, monkeypatch):
    stream, static = sides
    monkeypatch.chdir(tmp_path)
    found = balanced_join(stream, static, "k", workers=2, state="join")
    assert found.count() == stream.join(static, "k").count()
    assert StaticStore(tmp_path / "join" / "static").versions() == [1]
