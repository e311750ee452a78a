"""What tasks learn in one epoch is what those of the next start from, also after a restart."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from pyspark.errors import StreamingQueryException

from evenkey.groupings import parse
from evenkey.metrics import max_over_mean
from evenkey.spark import RoutingTables, route
from evenkey.spark.learning import Lesson, LessonCollector, TableLearner
from evenkey.spark.task import TaskId
from evenkey.streams import generated
from tests.spark import oracle

WORKERS, EPOCHS = 10, 3


@pytest.fixture(scope="module")
def stream():
    """Three epochs of 50 s: a key becomes old, and its pool may grow, 45 s after the start.

    An epoch that remembered nothing would be as unbalanced as the first.
    """
    return generated("country-skew-r80", messages=6000, rate=40)


class Setting:
    """A query, its checkpoint and its routing tables."""

    def __init__(self, spark, stream, directory):
        self.spark, self.stream, self.directory = spark, stream, directory
        self.tables = directory / "tables"
        self.paused = directory / "paused"

    def run(self, stop_after=EPOCHS - 1, workers=WORKERS):
        """Rows of each epoch up to `stop_after`; a later call goes on."""

        def pause(epoch):
            if epoch == stop_after:
                self.paused.touch()

        self.paused.unlink(missing_ok=True)
        df = oracle.streaming(self.spark, self.stream, self.directory, epochs=EPOCHS)
        for spelling in ("pkg", "dkg"):
            column = f"by {spelling}"
            df = route(df, "key", spelling, workers, time="time", state=self.tables, column=column)
        return oracle.run(oracle.with_clues(df), self.directory, pause)

    def of_the_query(self):
        """The tables of the only query that there has been."""
        (query,) = self.tables.iterdir()
        return RoutingTables(query, "dkg", WORKERS)


@pytest.fixture
def setting(session, stream, tmp_path):
    return Setting(session, stream, tmp_path)


def peak(rows, spelling):
    workers = rows[f"by {spelling}"].to_numpy()
    return max_over_mean(np.bincount(workers, minlength=WORKERS))


def test_an_epoch_starts_with_the_hot_keys_of_the_one_before(setting):
    epochs = setting.run()
    assert sorted(epochs) == [0, 1, 2]
    assert peak(epochs[0], "dkg") > 0.7 * peak(epochs[0], "pkg")
    for epoch in (1, 2):
        assert peak(epochs[epoch], "dkg") < 0.5 * peak(epochs[epoch], "pkg")
    tables = setting.of_the_query()
    assert tables.numbers() == [1, 2, 3]
    assert tables.path(1).name == "table-0000000001.npz"
    (hot,) = np.unique(epochs[0].filter(_bears(epochs[0], "Turkey"))["hash"].to_numpy())
    for number in (1, 2, 3):
        items = tables.read(number).memory["items"]
        pools = dict(zip(items["key"].view(np.int64).tolist(), items["pool"].tolist(), strict=True))
        assert pools[hot] > 2


def _bears(rows, key):
    return [each == key for each in rows["key"].to_pylist()]


def test_a_restarted_query_goes_on_from_its_table(setting):
    before = setting.run(stop_after=1)
    after = setting.run()
    assert (sorted(before), sorted(after)) == ([0, 1], [2])
    epochs = [*before.values(), *after.values()]
    expected = oracle.expected_workers("dkg", WORKERS, epochs)
    assert [rows["by dkg"].to_pylist() for rows in epochs] == expected
    assert setting.of_the_query().numbers() == [1, 2, 3]


def test_a_corrupt_table_stops_the_query_until_it_is_deleted(setting):
    before = setting.run(stop_after=1)
    table = setting.of_the_query().path(2)
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(StreamingQueryException) as stopped:
        setting.run()
    assert f"routing table {table} is corrupt" in str(stopped.value)
    assert "delete it" in str(stopped.value)

    # The mend that the message names: routing goes on from the table before.
    table.unlink()
    after = setting.run()
    (expected,) = oracle.expected_workers("dkg", WORKERS, [before[0], after[2]])[1:]
    assert after[2]["by dkg"].to_pylist() == expected


def test_a_table_of_another_worker_count_stops_the_query(setting):
    setting.run(stop_after=0)
    with pytest.raises(StreamingQueryException) as stopped:
        setting.run(workers=WORKERS + 1)
    assert "table-0000000001.npz was written by dkg with 10 workers" in str(stopped.value)
    assert "pass another directory" in str(stopped.value)


def test_tables_that_cannot_be_read_stop_the_query(setting):
    setting.tables.write_text("in the way")
    with pytest.raises(StreamingQueryException) as stopped:
        setting.run()
    assert f"routing tables cannot be read from {setting.tables}" in str(stopped.value)
    assert "choose another directory" in str(stopped.value)


def test_tables_that_cannot_be_written_cost_balance_alone(tmp_path, monkeypatch, caplog):
    """On the driver, where an error would stop Spark from hearing of its tasks."""

    def full(*_):
        raise OSError(28, "No space left on device")

    tables = RoutingTables(tmp_path, "dkg", WORKERS)
    collector = LessonCollector()
    who = TableLearner("dkg", tables, parse("dkg"))
    lesson = who.teach(TaskId("query", 0, 0), Lesson({}, {}))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        assert collector.addInPlace({}, lesson) == {}
    assert "table-0000000001.npz cannot be written" in caplog.text
    assert "balance is learned anew" in caplog.text
    collector.addInPlace({}, who.teach(TaskId("query", 1, 0), Lesson({}, {})))
    assert tables.under("query").numbers() == [2]


@pytest.fixture
def tables(tmp_path):
    return RoutingTables(tmp_path, "pkg", WORKERS)


def learned(tables, source, epoch=0, keys=(7, 7, 8), name="one"):
    router = parse("pkg").router(WORKERS, source)
    router.route(np.array(keys, dtype=np.uint64))
    who = TableLearner(name, tables, parse("pkg"))
    return who.teach(TaskId("query", epoch, source), Lesson({}, router.snapshot()))


def test_a_task_that_runs_twice_says_it_once(tables):
    collector = LessonCollector()
    collector.addInPlace({}, learned(tables, 0, keys=(1,)))
    collector.addInPlace({}, learned(tables, 1))
    collector.addInPlace({}, learned(tables, 0))
    local = tables.under("query").read(1).local
    assert {source: state["sent"].sum() for source, state in local.items()} == {0: 3, 1: 3}


def test_a_source_without_messages_keeps_its_state(tables):
    collector = LessonCollector()
    for source in range(2):
        collector.addInPlace({}, learned(tables, source))
    collector.addInPlace({}, learned(tables, 0, epoch=1, keys=(1,)))
    local = tables.under("query").read(2).local
    assert {source: state["sent"].sum() for source, state in local.items()} == {0: 1, 1: 3}


def test_what_comes_too_late_is_not_learned(tables):
    collector = LessonCollector()
    collector.addInPlace({}, learned(tables, 0, epoch=1))
    collector.addInPlace({}, learned(tables, 0, epoch=0))
    assert tables.under("query").numbers() == [2]


def test_in_a_task_lessons_are_gathered(tables):
    copy = pickle.loads(pickle.dumps(LessonCollector()))
    gathered = copy.addInPlace(
        copy.addInPlace(copy.zero({}), learned(tables, 0)), learned(tables, 1)
    )
    assert sorted(task.partition for _, task in gathered) == [0, 1]
    assert not any(tables.directory.iterdir())


def test_what_is_held_of_a_query_goes_with_it(tables):
    collector = LessonCollector()
    collector.addInPlace({}, {**learned(tables, 0), **learned(tables, 0, name="other")})
    assert collector.held == 2
    collector.forget("another query")
    assert collector.held == 2
    collector.forget("query")
    assert collector.held == 0
