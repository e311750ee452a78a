"""Of all that ran an epoch one commits it, whoever else wakes up and whenever."""

from __future__ import annotations

import itertools
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from evenkey.errors import RunError
from evenkey.runs import read_results
from evenkey.runs.commits import Commits, epoch_name
from evenkey.runs.epoch_files import EpochFiles
from evenkey.runs.parts import encoded

EPOCH = epoch_name(3)


def stage(commits, values, number=0, name=EPOCH):
    table = pa.table({"n": pa.array(values, pa.int64())})
    return commits.stage(name, "results", number, table.num_rows, encoded(table))


def seen(root):
    """What a reader sees that knows nothing of commits."""
    if not (root / "results").is_dir():
        return []
    return sorted(ds.dataset(root / "results").to_table()["n"].to_pylist())


def read(root):
    return read_results(root)["n"].to_pylist()


def settled(commits):
    """The commit that counts."""
    commit = commits.read(EPOCH)
    assert commit is not None
    return commit


def test_nothing_is_seen_before_its_epoch_is_committed(tmp_path):
    commits = Commits(tmp_path, 1)
    stage(commits, [1, 2])
    stage(commits, [3], number=1)
    assert seen(tmp_path) == []
    commits.commit(EPOCH, {"late": 4})
    assert seen(tmp_path) == read(tmp_path) == [1, 2, 3]
    names = [path.name for path in (tmp_path / "results" / EPOCH).iterdir()]
    assert sorted(names) == ["part-00000.parquet", "part-00001.parquet"]
    assert settled(commits).figures == {"late": 4}
    assert not list((tmp_path / "state" / "_staged").rglob("part-*"))


def test_the_first_commit_counts_and_the_parts_of_others_are_dropped(tmp_path):
    hung, other = Commits(tmp_path, 1), Commits(tmp_path, 2)
    stage(hung, [1, 2])
    stage(hung, [2], number=1)
    stage(other, [7])
    assert other.commit(EPOCH).claim == 2
    stage(hung, [9], number=2)
    assert hung.commit(EPOCH).claim == 2
    assert seen(tmp_path) == read(tmp_path) == [7]
    # Tasks of the process that woke up may write even now.
    stage(hung, [9], number=3)
    assert seen(tmp_path) == read(tmp_path) == [7]
    Commits(tmp_path, 3).recover()
    assert not list((tmp_path / "state" / "_staged").rglob("part-*"))


def test_a_commit_between_another_claim_and_its_commit_is_whole(tmp_path):
    """A process that hangs after its last look at its claim still commits what it has staged."""
    hung, other = Commits(tmp_path, 1), Commits(tmp_path, 2)
    stage(hung, [1, 2])
    other.recover()
    stage(other, [1, 2])
    assert hung.commit(EPOCH).claim == 1
    assert other.commit(EPOCH).claim == 1
    assert seen(tmp_path) == read(tmp_path) == [1, 2]


def test_who_goes_on_shows_what_was_committed_and_not_yet_seen(tmp_path, monkeypatch):
    commits = Commits(tmp_path, 1)
    stage(commits, [1, 2])
    with monkeypatch.context() as killed:
        killed.setattr(Commits, "_settle", lambda *_: None)
        commits.commit(EPOCH)
    assert seen(tmp_path) == []
    assert read(tmp_path) == [1, 2]
    Commits(tmp_path, 2).recover()
    assert seen(tmp_path) == read(tmp_path) == [1, 2]


def test_what_was_shown_in_part_is_shown_whole(tmp_path, monkeypatch):
    commits = Commits(tmp_path, 1)
    parts = [stage(commits, [number], number) for number in range(3)]
    with monkeypatch.context() as killed:
        killed.setattr(Commits, "_settle", lambda *_: None)
        commits.commit(EPOCH)
    waiting = tmp_path / "state" / "_staged" / "00000001" / EPOCH / "results"
    (tmp_path / "results" / EPOCH).mkdir(parents=True)
    shutil.copy(waiting / parts[1].staged_name, tmp_path / "results" / EPOCH / parts[1].name)
    Commits(tmp_path, 2).recover()
    assert seen(tmp_path) == read(tmp_path) == [0, 1, 2]


def race(root, claim):
    """What one of many does that all run the same epoch."""
    commits = Commits(root, claim)
    try:
        for number in range(3):
            stage(commits, [claim], number)
    except RunError:
        # A newer claim has dropped what an older one staged, because the epoch is committed.
        return settled(commits).claim
    return commits.commit(EPOCH, {"claim": claim}).claim


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_many_at_once(tmp_path, pool):
    made = {
        "threads": lambda: ThreadPoolExecutor(8),
        "processes": lambda: ProcessPoolExecutor(4, mp_context=get_context("forkserver")),
    }
    for round_ in range(1 if pool == "processes" else 20):
        root = tmp_path / str(round_)
        with made[pool]() as running:
            told = [each.result() for each in [running.submit(race, root, n) for n in range(1, 9)]]
        (winner,) = set(told)
        assert seen(root) == read(root) == [winner] * 3
        assert settled(Commits(root)).figures == {"claim": winner}


def test_readers_meanwhile_see_whole_epochs_only(tmp_path):
    done = threading.Event()
    found: list[int] = []

    def look():
        while not done.is_set():
            epochs = list((tmp_path / "results").glob("epoch=*"))
            found.extend(len(list(epoch.iterdir())) for epoch in epochs)
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
    assert set(found) == {5}


def test_a_task_that_ran_twice_counts_once(tmp_path):
    commits = Commits(tmp_path, 1)
    stage(commits, [1, 2])
    told = stage(commits, [5])
    stage(commits, [1, 3])
    commits.commit(EPOCH, reported=[told])
    assert seen(tmp_path) == [5]
    other = epoch_name(4)
    stage(commits, [6], name=other)
    stage(commits, [8], name=other)
    commits.commit(other)
    assert seen(tmp_path) in ([5, 6], [5, 8])


def test_a_process_that_wakes_up_leaves_the_parts_of_newer_claims_alone(tmp_path):
    hung, other = Commits(tmp_path, 1), Commits(tmp_path, 2)
    stage(hung, [1])
    stage(other, [1])
    hung.commit(EPOCH)
    assert (tmp_path / "state" / "_staged" / "00000002" / EPOCH).is_dir()
    other.commit(EPOCH)
    assert not (tmp_path / "state" / "_staged" / "00000002" / EPOCH).is_dir()


@pytest.mark.parametrize("what", ["part", "commit"])
def test_every_changed_byte_is_noticed(tmp_path, what):
    files = EpochFiles(tmp_path / "state", Commits(tmp_path, 1))
    table = pa.table({"worker": pa.array([0] * 9, pa.int32()), "key": [f"k{n}" for n in range(9)]})
    files.write("placed", 0, 0, table)
    files.commits.commit(epoch_name(0))
    assert files.read("placed") == table
    pattern = "placed/epoch=*/part-*" if what == "part" else "commits/epoch=*"
    (file,) = (tmp_path / "state").glob(pattern)
    content = file.read_bytes()
    for place, bit in itertools.product(range(len(content)), [0x04]):
        changed = bytearray(content)
        changed[place] ^= bit
        file.write_bytes(changed)
        with pytest.raises(RunError, match=r"cannot be read .it was cut short or changed"):
            files.read("placed")
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(RunError, match="cut short"):
        files.read("placed")
    file.unlink()
    if what == "part":
        with pytest.raises(RunError, match=r"part-00000\.parquet is gone: put it back"):
            files.read("placed")
