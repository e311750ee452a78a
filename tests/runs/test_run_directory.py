"""The directory of a run, on a disk or in a remote store, and the files of earlier processes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.pipeline.exporters import History
from evenkey.pipeline.learn.local_copies import local_copy
from evenkey.pipeline.runs.output.commits import epoch_name
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.epoch_files import EpochFiles
from evenkey.pipeline.runs.output.parts import encoded
from evenkey.pipeline.runs.output.recalling import keep_reading, recall_reading
from evenkey.pipeline.runs.output.results import read_results
from evenkey.pipeline.runs.output.spark_logs import COMMITS, OFFSETS, SparkLogs
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from tests.exporters.records import RUN, record
from tests.stores.far import STORES, FarStore

OPTIONS = {"grouping": "pkg", "workers": 4}


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    return STORES[request.param](tmp_path)


@pytest.mark.parametrize(("log", "kept"), [(".0.9f25.tmp", False), ("0", True)])
def test_a_checkpoint_without_an_epoch_is_deleted(tmp_path, log, kept):
    # Spark always rejects such a checkpoint, left by a kill while the first epoch was logged.
    with RunDirectory.opened(tmp_path) as directory:
        directory.begin(OPTIONS)
        checkpoint = Path(directory.checkpoint)
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "metadata").write_text("{}")
    (checkpoint / "offsets" / log).write_text("v1")
    with RunDirectory.opened(tmp_path):
        assert checkpoint.exists() == kept


@pytest.mark.parametrize("log", ["metadata", "offsets/0"])
def test_a_remote_checkpoint_without_an_epoch_is_deleted(tmp_path, log):
    store = FarStore(tmp_path)
    with RunDirectory.opened(store) as directory:
        directory.begin(OPTIONS)
    store.put(f"state/checkpoint/{log}", b"v1")
    with RunDirectory.opened(store) as directory:
        assert directory.checkpoint == "far://bucket/state/checkpoint"
        assert bool(directory.checkpoint_files.names()) == (log == "offsets/0")


def test_a_checkpoint_of_others_is_kept(store):
    store.put("state/checkpoint/metadata", b"{}")
    with RunDirectory.opened(store) as directory:
        assert directory.checkpoint_files.names() == ["metadata"]


@pytest.mark.parametrize("newest", [None, 1])
def test_a_checkpoint_that_lacks_committed_epochs_is_refused(store, newest):
    """From an older checkpoint, a run would begin these epochs again, perhaps with other rows."""
    with RunDirectory.opened(store) as directory:
        directory.begin(OPTIONS)
        for epoch in range(3):
            directory.checkpoint_files.put(f"offsets/{epoch}", b"v1")
            directory.commits.commit(f"epoch={epoch:08d}")
    with RunDirectory.opened(store) as directory:
        assert directory.commits.epochs() == [0, 1, 2]
    for epoch in range(3):
        if newest is None or epoch > newest:
            store.delete(f"state/checkpoint/offsets/{epoch}")
    refused = "is lost or older than the results, which end with epoch 2: restore it as it was"
    with pytest.raises(RunError, match=refused), RunDirectory.opened(store):
        pass
    assert ("state/checkpoint/offsets/0" in store.names()) == (newest is not None)


def test_a_run_keeps_files_from_before_its_start_and_finishes_once(store):
    dead_letters = pa.table({"position": [7], "line": ["?"], "reason": ["no key"]})
    with RunDirectory.opened(store) as first:
        assert not first.begun
        first.dead_letters.write(EpochFiles.DEAD_LETTERS, 0, 0, dead_letters)
        keep_reading(first, {"files": ["a"]})
        first.begin(OPTIONS)
        first.begin({"grouping": "another"})
    with RunDirectory.opened(store) as second:
        assert second.begun
        second.check(OPTIONS, ())
        with pytest.raises(ConfigurationError, match=r"workers was 4 and is now 5\): choose"):
            second.check({**OPTIONS, "workers": 5}, ())
        assert second.dead_letters.read(EpochFiles.DEAD_LETTERS) == dead_letters
        assert recall_reading(second.store)[0] == {"files": ["a"]}
        assert second.finished() is None
        second.finish({"messages": 3})
        second.finish({"messages": 4})
    assert RunDirectory(store).finished() == {"messages": 3}
    assert store.names("dead-letters") == ["dead-letters/epoch=00000000/part-00000.parquet"]
    assert read_results(store).num_rows == 0


def test_changes_are_those_since_the_last_process(store):
    with RunDirectory.opened(store) as directory:
        assert directory.changes(OPTIONS) == {}
        directory.begin({**OPTIONS, "cost": 1.0, "output": "/here"})
        directory.lay_out({"workers": 8})
    assert RunDirectory(store).changes({**OPTIONS, "cost": 2.0, "output": "/there"}) == {
        "cost": "cost was 1.0 and is now 2.0",
        "workers": "workers was 8 and is now 4",
    }


def test_reading_leaves_no_files(store):
    directory = RunDirectory(store)
    directory.check(OPTIONS, ())
    assert directory.finished() is None
    assert store.names() == []


def test_any_host_may_request_a_pause_and_the_next_process_forgets_it(store):
    with RunDirectory.opened(store) as directory:
        assert not directory.asked_to_pause
        store.put("state/paused", b"")
        assert directory.asked_to_pause
        directory.closing.touch()
        signs = directory.closing.parent
    assert not signs.exists()
    with RunDirectory.opened(store) as directory:
        assert not directory.asked_to_pause
        assert not directory.closing.exists()


def test_a_directory_without_a_claim_has_no_signal_files(store):
    with pytest.raises(RunError, match=r"this process has not opened output .*: call"):
        _ = RunDirectory(store).paused


def test_files_that_are_read_by_range_are_on_a_local_disk(store):
    with RunDirectory.opened(store) as directory:
        size = directory.keep_file("state/input/records", lambda file: file.write_bytes(b"three"))
    assert size == 5
    assert local_copy(store, "state/input/records").read_bytes() == b"three"
    assert local_copy(store, "state/input/records") == local_copy(store, "state/input/records")


def test_compressed_files_are_not_unpacked_into_a_store(tmp_path):
    files = [Path("a.csv"), Path("b.csv.gz")]
    here = RunDirectory(tmp_path / "out")
    assert here.unpacked(files) == tmp_path / "out" / "state" / "input"
    far = RunDirectory(FarStore(tmp_path))
    far.unpacked(files[:1])
    with pytest.raises(ConfigurationError, match=r"input b\.csv\.gz is compressed, and cannot be"):
        far.unpacked(files)


def test_the_whole_directory_is_deleted(store):
    for name in ("a", "state/b", "state/c/d"):
        store.put(name, b"x")
    RunDirectory(store.under("state")).clear()
    assert store.names() == ["a"]


def test_sparks_logs_are_read_from_any_store(store):
    logs = SparkLogs(store)
    assert (logs.newest(OFFSETS), logs.begun(0), logs.ends(0)) == (-1, None, [])
    for epoch in range(11):
        settings = json.dumps({"batchTimestampMs": 1000 * epoch})
        lines = ["v1", settings, json.dumps({"position": 5 * epoch}), "-"]
        store.put(f"{OFFSETS}/{epoch}", "\n".join(lines).encode())
        if epoch < 10:
            store.put(f"{COMMITS}/{epoch}", b"v1")
        assert logs.newest(OFFSETS) == epoch
        assert logs.begun(epoch) == (float(epoch), [{"position": 5 * epoch}, None])
    assert logs.ends(9) == [{"position": 45}, None]
    assert (logs.newest(COMMITS), SparkLogs(store).newest(OFFSETS)) == (9, 10)


def test_a_history_is_in_the_store_of_the_run(store):
    history = History(store.under("history"))
    history.begin(RUN)
    history.add(record(1))
    history.add(record(0))
    first = history.last_sign_of_life()
    history.beat()
    assert history.last_sign_of_life() >= first > 1_000_000
    assert (history.run(), history.numbers(), history.record(1)) == (RUN, [0, 1], record(1))
    history.end("paused")
    assert (history.ended() or ("",))[0] == "paused"


def test_routing_tables_are_in_the_store_object_of_the_run(tmp_path):
    # A URI alone would lack the settings for access to the run's store.
    tables = RoutingTables(RunDirectory(FarStore(tmp_path)).tables, "dkg", 4)
    tables.write(0, RoutingTable({}))
    assert FarStore(tmp_path).names("state/tables") == ["state/tables/table-0000000000.npz"]


def test_a_run_does_not_begin_among_foreign_files(store):
    directory = RunDirectory(store)
    for name in ("state/claims/00000001.json", "dead-letters/x.parquet", "lost+found/x"):
        store.put(name, b"")
    directory.check(OPTIONS, ())
    store.put("results/epoch=00000000/mine.parquet", b"")
    store.put("notes.txt", b"mine")
    with pytest.raises(ConfigurationError) as caught:
        directory.check(OPTIONS, ())
    (line,) = str(caught.value).splitlines()
    assert "holds notes.txt and 1 more, which no run of evenkey wrote: choose a directory" in line


STRAYS = [
    "state/commits/notes.txt",
    "state/commits/epoch=00000000.json~",
    "state/commits/copy of epoch=00000000.json",
    "state/layouts/x.json",
    "state/claims/copy of 00000001.json",
    "state/claims/x.json",
    "state/parts/epoch=00000000/x",
    "state/parts/epoch=00000000/y/results/part-0",
]


def test_files_that_somebody_else_put_into_a_run_change_nothing(store):
    with RunDirectory.opened(store) as first:
        first.begin(OPTIONS)
    for name in STRAYS:
        first.store.put(name, b"{}")
    with RunDirectory.opened(store) as second:
        second.check(OPTIONS, free=())
        second.commits.stage(epoch_name(0), "results", 0, 1, encoded(pa.table({"n": [7]})))
        second.commits.commit(epoch_name(0))
        assert second.commits.epochs() == [0]
        assert second.layouts.newest == 0
    assert read_results(store)["n"].to_pylist() == [7]
    assert set(STRAYS) <= set(first.store.names())


@pytest.mark.parametrize("content", ["[]", "3", "null", '{"format": "4"}', '{"format": null}'])
def test_another_manifest_is_one_line(store, content):
    with RunDirectory.opened(store) as first:
        first.begin(OPTIONS)
    first.store.put("state/manifest.json", content.encode())
    with RunDirectory.opened(store) as second, pytest.raises(ConfigurationError) as refused:
        second.check(OPTIONS, free=())
    assert "choose another output" in str(refused.value)
    assert "\n" not in str(refused.value)
