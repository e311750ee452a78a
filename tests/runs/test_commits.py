"""Exactly one of the processes that run an epoch commits it, even if others wake up late."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import RunError
from evenkey.core.stores import store_at
from evenkey.core.whole_files import sealed
from evenkey.pipeline.runs import read_results
from evenkey.pipeline.runs.output.claims import Claim
from evenkey.pipeline.runs.output.commits import Commit, Commits, epoch_name
from evenkey.pipeline.runs.output.epoch_files import EpochFiles
from evenkey.pipeline.runs.output.parts import encoded
from evenkey.pipeline.runs.output.tallies import Tallies
from tests.stores.far import STORES
from tests.tiers import most_in_soak

EPOCH = epoch_name(3)


@pytest.fixture(params=STORES)
def root(request, tmp_path):
    return STORES[request.param](tmp_path)


def stage(commits, values, number=0, name=EPOCH):
    table = pa.table({"n": pa.array(values, pa.int64())})
    return commits.stage(name, "results", number, table.num_rows, encoded(table))


def seen(root):
    """Return the rows that a plain reader of the files sees."""
    store = store_at(root)
    tables = [pq.read_table(pa.BufferReader(store.read(name))) for name in store.names("results")]
    return sorted(value for table in tables for value in table["n"].to_pylist())


def read(root):
    return read_results(root)["n"].to_pylist()


def staged(root):
    return store_at(root).names("state/parts")


def settled(commits):
    """Return the valid commit."""
    commit = commits.read(EPOCH)
    assert commit is not None
    return commit


def test_nothing_is_visible_before_its_epoch_is_committed(root):
    commits = Commits(root, 1)
    stage(commits, [1, 2])
    stage(commits, [3], number=1)
    assert seen(root) == []
    commits.commit(EPOCH, {"late": 4})
    assert seen(root) == read(root) == [1, 2, 3]
    names = store_at(root).names(f"results/{EPOCH}")
    assert names == [f"results/{EPOCH}/part-{number:05d}.parquet" for number in range(2)]
    assert settled(commits).figures == {"late": 4}
    assert not staged(root)


def test_bounds_of_windows_are_instants_in_parquet_and_in_lines_of_json(root):
    start, end = "2020-01-01T00:00:00.000Z", "2020-01-01T00:01:00.000Z"
    row = {"window_start": start, "window_end": end, "day": start, "n": 3}
    instants = [datetime.fromisoformat(each) for each in (start, end)]
    commits = Commits(root, 1)
    lines = json.dumps(row).encode()
    commits.stage(EPOCH, "results", 0, 1, lines, "json")
    table = pa.Table.from_pylist([{**row, "window_start": instants[0], "window_end": instants[1]}])
    commits.stage(EPOCH, "results", 1, 1, encoded(table))
    commits.commit(EPOCH)
    first, second = read_results(root).to_pylist()
    assert first == second
    assert [first["window_start"], first["window_end"]] == instants
    assert first["day"] == start


def test_the_first_commit_counts_and_the_parts_of_others_are_dropped(root):
    hung, other = Commits(root, 1), Commits(root, 2)
    stage(hung, [1, 2])
    stage(hung, [2], number=1)
    stage(other, [7])
    assert other.commit(EPOCH).claim == 2
    stage(hung, [9], number=2)
    assert hung.commit(EPOCH).claim == 2
    assert seen(root) == read(root) == [7]
    # Tasks of the process that woke up may still write.
    stage(hung, [9], number=3)
    assert seen(root) == read(root) == [7]
    Commits(root, 3).recover()
    assert not staged(root)


def test_a_commit_between_another_claim_and_its_commit_is_complete(root):
    """A process that hangs after the last check of its claim still commits its staged parts."""
    hung, other = Commits(root, 1), Commits(root, 2)
    stage(hung, [1, 2])
    other.recover()
    stage(other, [1, 2])
    assert hung.commit(EPOCH).claim == 1
    assert other.commit(EPOCH).claim == 1
    assert seen(root) == read(root) == [1, 2]


def test_the_next_process_makes_committed_parts_visible(root, monkeypatch):
    commits = Commits(root, 1)
    stage(commits, [1, 2])
    with monkeypatch.context() as killed:
        killed.setattr(Commits, "_settle", lambda *_: None)
        commits.commit(EPOCH)
    assert seen(root) == []
    assert read(root) == [1, 2]
    Commits(root, 2).recover()
    assert seen(root) == read(root) == [1, 2]


def test_a_partly_visible_epoch_is_completed(root, monkeypatch):
    commits = Commits(root, 1)
    parts = [stage(commits, [number], number) for number in range(3)]
    with monkeypatch.context() as killed:
        killed.setattr(Commits, "_settle", lambda *_: None)
        commits.commit(EPOCH)
    store = store_at(root)
    waiting = f"state/parts/{EPOCH}/00000001/results/{parts[1].staged_name}"
    store.put(f"results/{EPOCH}/{parts[1].name}", store.read(waiting))
    Commits(root, 2).recover()
    assert seen(root) == read(root) == [0, 1, 2]


def race(root, claim):
    """Run the epoch, as one of many concurrent processes."""
    commits = Commits(root, claim)
    try:
        for number in range(3):
            stage(commits, [claim], number)
    except RunError:
        # A newer claim has deleted an older claim's staged parts: the epoch is committed.
        return settled(commits).claim
    return commits.commit(EPOCH, {"claim": claim}).claim


@pytest.mark.slow(2)
@pytest.mark.parametrize(
    ("kind", "pool"),
    most_in_soak(
        itertools.product(["a directory", "far", "forgetful"], ["threads", "processes"]),
        2,
        slow=[("a directory", "processes"), ("forgetful", "threads")],
    ),
)
def test_many_concurrent_processes(tmp_path, pool, kind):
    made = {
        "threads": lambda: ThreadPoolExecutor(8),
        "processes": lambda: ProcessPoolExecutor(4, mp_context=get_context("forkserver")),
    }
    for round_ in range(1 if pool == "processes" else 20):
        root = STORES[kind](tmp_path / str(round_))
        with made[pool]() as running:
            races = [running.submit(race, root, n) for n in range(1, 9)]
            (winner,) = {each.result() for each in races}
        assert seen(root) == read(root) == [winner] * 3
        assert settled(Commits(root)).figures == {"claim": winner}


def test_concurrent_readers_see_complete_epochs_and_plain_readers_complete_parts(tmp_path):
    done = threading.Event()
    found: list[int] = []

    def look():
        while not done.is_set():
            found.append(len(seen(tmp_path)))
            if Commits(tmp_path).begun:
                assert len(read_results(tmp_path)) % 5 == 0

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        for epoch in range(30):
            commits = Commits(tmp_path, 1)
            for number in range(5):
                stage(commits, [epoch], number, epoch_name(epoch))
            commits.commit(epoch_name(epoch))
        done.set()
        looking.result()
    assert found == sorted(found)
    assert len(seen(tmp_path)) == 5 * 30


def test_a_task_that_ran_twice_counts_once(root):
    commits = Commits(root, 1)
    stage(commits, [1, 2])
    part = stage(commits, [5])
    stage(commits, [1, 3])
    commits.commit(EPOCH, reported=[(part, "here")])
    assert seen(root) == [5]
    other = epoch_name(4)
    stage(commits, [6], name=other)
    stage(commits, [8], name=other)
    commits.commit(other)
    assert seen(root) in ([5, 6], [5, 8])


def test_a_process_that_wakes_up_leaves_the_parts_of_newer_claims_alone(root):
    hung, other = Commits(root, 1), Commits(root, 2)
    stage(hung, [1])
    stage(other, [1])
    hung.commit(EPOCH)
    assert staged(root)
    other.commit(EPOCH)
    assert not staged(root)


@pytest.mark.parametrize("what", ["part", "commit"])
def test_every_changed_byte_is_noticed(tmp_path, what):
    files = EpochFiles(Commits(tmp_path, 1), "state/")
    table = pa.table({"worker": pa.array([0] * 9, pa.int32()), "key": [f"k{n}" for n in range(9)]})
    files.write("placed", 0, 0, table)
    files.commits.commit(epoch_name(0))
    assert files.read("placed") == table
    pattern = "parts/*/*/state/placed/part-*" if what == "part" else "commits/epoch=*"
    (file,) = (tmp_path / "state").glob(pattern)
    content = file.read_bytes()
    for place, bit in itertools.product(range(len(content)), [0x04]):
        changed = bytearray(content)
        changed[place] ^= bit
        file.write_bytes(changed)
        with pytest.raises(RunError, match=r"cannot be read .it was cut short or changed"):
            EpochFiles(tmp_path, "state/").read("placed")
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(RunError, match="cut short"):
        EpochFiles(tmp_path, "state/").read("placed")
    file.unlink()
    if what == "part":
        with pytest.raises(RunError, match=r"part-00000-.*\.parquet is gone: put it back"):
            EpochFiles(tmp_path, "state/").read("placed")


def test_a_reported_part_that_the_driver_does_not_find_is_named(root, tmp_path):
    """Two directories with one name, on different hosts."""
    elsewhere = Commits(tmp_path / "elsewhere", 1)
    reported = [(stage(elsewhere, [1, 2]), "worker7")]
    commits = Commits(root, 1)
    wanted = r"does not see what host worker7 wrote at .*state/parts/.*: an output must be a place"
    with pytest.raises(RunError, match=wanted):
        commits.commit(EPOCH, reported=reported)
    assert commits.epochs() == []


def test_a_task_that_does_not_see_the_drivers_files_writes_nothing(root, tmp_path):
    claim = Claim(store_at(root))
    here = Commits(root, claim.number, claim.mark)
    stage(here, [1])
    other = STORES["a directory"](tmp_path / "elsewhere")
    mark = dataclasses.replace(claim.mark, store=other, host="driver3")
    there = pickle.loads(pickle.dumps(Commits(other, claim.number, mark)))
    wanted = r"does not see what host driver3 wrote at .*elsewhere/state/claims/00000001\.json: an"
    with pytest.raises(RunError, match=wanted):
        stage(there, [1])
    assert other.names() == []
    claim.release()


@pytest.mark.parametrize(
    ("splitters", "read", "held", "good"),
    [
        (None, 10, 10, True),
        (None, 10, 9, False),
        (None, None, 9, True),
        ((10, 12), 10, 12, True),
        ((10, 12), None, 12, True),
        ((9, 12), 10, 12, False),
        ((10, 12), 10, 11, False),
        ((10, 0), 10, 0, True),
        ((0, 0), 10, 0, False),
    ],
)
def test_an_epoch_that_does_not_add_up_is_not_committed(tmp_path, splitters, read, held, good):
    commits = Commits(tmp_path, 1)
    files = EpochFiles(commits, "state/")
    table = pa.table({"n": [1]})
    if splitters is not None:
        files.write("splits", 3, 0, table, took=splitters[0], gave=splitters[1])
    files.write("placed", 3, 0, table, took=held - held // 2)
    files.write("placed", 3, 1, table, took=held // 2)
    tallies = Tallies(None if splitters is None else "state/splits", "state/placed")

    def check(parts):
        tallies.check(str(tmp_path), EPOCH, parts, read)

    if good:
        commits.commit(EPOCH, check=check)
    else:
        said = rf"{EPOCH} of .* tasks counted different numbers of messages \(its source offered"
        with pytest.raises(RunError, match=said):
            commits.commit(EPOCH, check=check)
    assert (commits.read(EPOCH) is not None) == good


@pytest.mark.parametrize(
    "change",
    [
        {"place": "../elsewhere"},
        {"place": "/tmp"},  # noqa: S108 - nothing is written there
        {"form": "pth"},
    ],
    ids=["above", "absolute", "form"],
)
def test_a_commit_names_no_place_outside_the_run(root, change):
    commits = Commits(root, claim=1)
    part = dataclasses.replace(stage(commits, [1]), **change)
    forged = Commit(EPOCH, 1, (part,), {})
    commits.store.put(f"state/commits/{EPOCH}.json", sealed(json.dumps(asdict(forged)).encode()))
    with pytest.raises(RunError, match=r"cannot be read \(it names another epoch, or a place"):
        Commits(root, claim=2).recover()
