"""Tasks start with what the tasks of the previous epoch learned, also after a restart."""

from __future__ import annotations

import dataclasses
import pickle
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from pyspark.errors import StreamingQueryException

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.metrics import max_over_mean
from evenkey.core.stores import LocalStore
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.spark import RoutingTables, aggregate, route
from evenkey.spark.plans.epoch_statistics import EpochStatistics, TaskStatistics
from evenkey.spark.plans.places import mark_at
from evenkey.spark.plans.plan_source import Learned
from evenkey.spark.routing.tasks import OfRouters
from evenkey.spark.sessions.task_id import TaskId
from tests.spark import oracle

WORKERS, EPOCHS = 10, 3


@pytest.fixture(scope="module")
def stream():
    """Make three epochs of 50 s; a key becomes old, so that its pool may grow, after 45 s.

    An epoch without memory would be as unbalanced as the first.
    """
    return generated("country-skew-r80", messages=6000, rate=40)


class Setting:
    """A query with its checkpoint and its routing tables."""

    def __init__(self, spark, stream, directory):
        self.spark, self.stream, self.directory = spark, stream, directory
        self.tables = directory / "tables"

    def run(self, stop_after=EPOCHS - 1, workers=WORKERS):
        """Run epochs up to `stop_after`, and return their rows; a later call continues."""
        df = oracle.streaming(
            self.spark, self.stream, self.directory, epochs=EPOCHS, offered=stop_after + 1
        )
        for spelling in ("pkg", "dkg"):
            column = f"by {spelling}"
            df = route(df, "key", spelling, workers, time="time", state=self.tables, column=column)
        return oracle.run(oracle.with_clues(df), self.directory)

    def of_the_query(self):
        """Return the tables of the only query."""
        (query,) = (path for path in self.tables.iterdir() if path.name[0] != "_")
        return RoutingTables(self.tables, "dkg", WORKERS).of_query(query.name)


@pytest.fixture
def setting(session, stream, tmp_path):
    return Setting(session, stream, tmp_path)


def peak(rows, spelling):
    workers = rows[f"by {spelling}"].to_numpy()
    return max_over_mean(np.bincount(workers, minlength=WORKERS))


@pytest.mark.slow(4)
def test_an_epoch_starts_with_the_hot_keys_of_the_one_before(setting):
    epochs = setting.run()
    assert sorted(epochs) == [0, 1, 2]
    assert peak(epochs[0], "dkg") > 0.7 * peak(epochs[0], "pkg")
    for epoch in (1, 2):
        assert peak(epochs[epoch], "dkg") < 0.5 * peak(epochs[epoch], "pkg")
    tables = setting.of_the_query()
    assert tables.numbers() == [0, 1, 2]
    assert Path(tables.path(1)).name == "table-0000000001.npz"
    (hot,) = np.unique(epochs[0].filter(_has_key(epochs[0], "Turkey"))["hash"].to_numpy())
    for number in (1, 2):
        items = tables.read(number).memory["items"]
        pools = dict(zip(items["key"].view(np.int64).tolist(), items["pool"].tolist(), strict=True))
        assert pools[hot] > 2


def _has_key(rows, key):
    return [each == key for each in rows["key"].to_pylist()]


@pytest.mark.slow(6)
def test_a_restarted_query_goes_on_from_what_was_learned(setting):
    before = setting.run(stop_after=1)
    after = setting.run()
    assert (sorted(before), sorted(after)) == ([0, 1], [2])
    epochs = [*before.values(), *after.values()]
    expected = oracle.expected_workers("dkg", WORKERS, epochs)
    assert [rows["by dkg"].to_pylist() for rows in epochs] == expected
    assert setting.of_the_query().numbers() == [0, 1, 2]


@pytest.mark.slow(9)
def test_a_corrupt_table_stops_the_query_until_it_is_deleted(setting):
    before = setting.run(stop_after=1)
    table = Path(setting.of_the_query().path(1))
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(StreamingQueryException) as stopped:
        setting.run()
    assert f"routing table {table} is corrupt" in str(stopped.value)
    assert "delete it" in str(stopped.value)

    # With the fix of the message, the table is made again from the epoch statistics.
    table.unlink()
    after = setting.run()
    epochs = [*before.values(), *after.values()]
    assert after[2]["by dkg"].to_pylist() == oracle.expected_workers("dkg", WORKERS, epochs)[2]


@pytest.mark.soak(7)
def test_corrupt_epoch_statistics_stop_the_query_until_they_are_deleted(setting):
    setting.run(stop_after=0)
    statistics, _ = sorted(setting.tables.rglob("epoch-statistics/*/*.npz"))
    statistics.write_bytes(statistics.read_bytes()[:100])
    with pytest.raises(StreamingQueryException) as stopped:
        setting.run()
    assert f"epoch statistics {statistics} are corrupt" in str(stopped.value)
    statistics.unlink()
    assert sorted(setting.run()) == [1, 2]


@pytest.mark.slow(2)
def test_other_workers_learn_anew(setting):
    """They route like the workers of a query that starts then."""
    setting.run(stop_after=0)
    after = setting.run(workers=WORKERS + 1)
    expected = oracle.expected_workers("dkg", WORKERS + 1, [after[1], after[2]])
    assert [after[epoch]["by dkg"].to_pylist() for epoch in (1, 2)] == expected


def test_a_place_that_cannot_be_written_is_named_before_the_query_starts(setting):
    setting.tables.write_text("in the way")
    with pytest.raises(
        RunError, match=r"state .*tables/_shared_storage_check/.* cannot be written"
    ) as stopped:
        setting.run()
    assert "choose another storage location" in str(stopped.value)


def test_a_place_that_no_store_is_known_for_is_refused(setting):
    setting.tables = "nothing://bucket/state"
    with pytest.raises(ConfigurationError, match="no store is known for nothing://"):
        setting.run()


def in_a_thread(batch, _):
    """Collect in another thread, which does not know the epoch (over Connect none does)."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(batch.collect).result()


@pytest.mark.soak(7)
@pytest.mark.parametrize("grouping", ["dkg", "planned"])
def test_a_task_that_does_not_know_its_epoch_fails(session, stream, tmp_path, grouping):
    """Otherwise, what it learned would be lost."""
    df = oracle.streaming(session, stream, tmp_path, epochs=EPOCHS)
    options = {"time": "time", "window": "1 minute", "state": tmp_path / "tables"}
    df = aggregate(df, "key", grouping, WORKERS, "sum(column=position)", **options)
    query = (
        df.writeStream.foreachBatch(in_a_thread)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    with pytest.raises(StreamingQueryException, match="a task of a stream does not know its epoch"):
        query.processAllAvailable()


class OwnDisk(LocalStore):
    """A path that is a different directory in each process, as on separate hosts."""

    def __init__(self, directory, processes):
        super().__init__(directory)
        self.processes = processes

    def __reduce__(self):
        return _other_disk, (self.directory, self.processes)


def _other_disk(directory, processes):
    return LocalStore(processes / "task" / directory.relative_to("/"))


@pytest.mark.soak
@pytest.mark.classic("its stand-in for hosts takes the driver's process for one of them")
@pytest.mark.parametrize("grouping", ["dkg", "planned"])
def test_hosts_that_do_not_share_the_place_stop_in_the_first_epoch(
    session, stream, tmp_path, grouping
):
    """Separate hosts are simulated: for tasks, the path is on another disk."""
    state = OwnDisk(tmp_path / "tables", tmp_path / "disks")
    df = oracle.streaming(session, stream, tmp_path, epochs=EPOCHS)
    df = route(df, "key", grouping, WORKERS, time="time", state=state)
    rows = {}
    with pytest.raises(StreamingQueryException) as stopped:
        rows = oracle.run(df, tmp_path)
    assert rows == {}
    says = str(stopped.value)
    host = platform.node()
    assert f"host {host} does not see what host {host} wrote at" in says
    assert "state must be a place that the driver and all executors share" in says


def test_a_temporary_place_that_a_host_does_not_see_asks_for_state(spark, tmp_path):
    made = mark_at(spark, LocalStore(tmp_path / "own"), chosen=False)
    there = LocalStore(tmp_path / "of-the-driver")
    gone = dataclasses.replace(made, store=there, host="driver")
    with pytest.raises(RunError) as stopped:
        gone.check()
    path = there.path(made.name)
    assert f"does not see what host driver wrote at {path}" in str(stopped.value)
    assert "pass state=..., a place that the driver" in str(stopped.value)


def test_the_last_hundred_shared_storage_checks_stay(spark, tmp_path, monkeypatch):
    store = LocalStore(tmp_path)
    for number in range(120):
        monkeypatch.setattr(
            "evenkey.spark.plans.places._program", lambda number=number: f"{number:04d}"
        )
        mark_at(spark, store).check()
    assert store.names() == [f"_shared_storage_check/{number:04d}" for number in range(20, 120)]


@pytest.fixture
def learning(spark, tmp_path):
    tables = RoutingTables(tmp_path, "pkg", WORKERS)
    return Learned(tables, mark_at(spark, tables.store), OfRouters(parse("pkg")))


def report(learning, source, epoch=0, keys=(7, 7, 8)):
    router = parse("pkg").router(WORKERS, source)
    router.route(np.array(keys, dtype=np.uint64))
    learning.report(TaskId("query", epoch, source), TaskStatistics({}, router.snapshot()))


def sent(learning, epoch):
    local = learning.decide(TaskId("query", epoch, 0)).local
    return {source: int(state["sent"].sum()) for source, state in local.items()}


def test_a_task_that_runs_twice_counts_once(learning):
    report(learning, 0)
    report(learning, 1)
    report(learning, 0)
    assert sent(learning, 1) == {0: 3, 1: 3}


def test_a_source_without_messages_keeps_its_state(learning):
    report(learning, 0)
    report(learning, 1)
    assert sent(learning, 1) == {0: 3, 1: 3}
    report(learning, 0, epoch=1, keys=(1,))
    assert sent(learning, 2) == {0: 1, 1: 3}


def test_a_task_that_wakes_after_its_epoch_changes_nothing(learning):
    report(learning, 0)
    assert sent(learning, 1) == {0: 3}
    report(learning, 1)
    assert sent(learning, 1) == {0: 3}
    report(learning, 0, epoch=1, keys=(1,))
    assert sent(learning, 2) == {0: 1}


def test_two_tasks_that_decide_write_the_same(learning):
    report(learning, 0)
    report(learning, 1)
    sent(learning, 1)
    table = Path(learning.tables.of_query("query").path(1))
    first = table.read_bytes()
    table.unlink()
    sent(pickle.loads(pickle.dumps(learning)), 1)
    assert table.read_bytes() == first


def test_epoch_statistics_outlast_epochs_without_rows(learning):
    """An epoch without rows may have no task that decides the plan."""
    report(learning, 0)
    assert sent(learning, 1) == {0: 3}
    report(learning, 1, epoch=1, keys=(1, 2))
    assert sent(learning, 4) == {0: 3, 1: 2}
    assert sent(learning, 5) == {0: 3, 1: 2}


@pytest.mark.slow(2)
def test_old_epoch_statistics_and_tables_are_deleted(learning):
    for epoch in range(120):
        report(learning, 0, epoch)
        report(learning, 1, epoch)
        sent(learning, epoch + 1)
    own = learning.tables.of_query("query")
    assert own.numbers() == list(range(20, 121))
    assert list(EpochStatistics(own.store).epochs(own.names())) == [119]


def test_a_task_that_does_not_see_the_table_says_so(learning):
    """The task that decided the table wrote it to another disk."""
    with pytest.raises(
        RunError,
        match=r"does not see what the task that .* wrote at .*table-0000000003\.npz",
    ):
        learning.recall(TaskId("query", 3, 0))


def test_epoch_statistics_that_cannot_be_written_fail_the_task(learning, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RunError, match=r"statistics .*000000\.npz cannot be written: .*No space"):
        report(learning, 0)
