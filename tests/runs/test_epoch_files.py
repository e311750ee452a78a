from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from evenkey.core.errors import RunError
from evenkey.pipeline.runs.output.commits import BEFORE
from evenkey.pipeline.runs.output.epoch_files import EpochFiles


def table(*numbers):
    return pa.table({"n": pa.array(numbers, pa.int64())})


@pytest.fixture
def files(tmp_path):
    return EpochFiles(tmp_path / "run")


def root_of(files):
    return files.commits.store.directory


def numbers(files, epochs=None):
    """Commit the staged files, and read them."""
    for waiting in sorted(root_of(files).glob("state/parts/epoch=*")):
        files.commits.commit(waiting.name)
    found = files.read("counts", epochs)
    return None if found is None else found["n"].to_pylist()


def test_nothing_written_is_nothing_to_read(files):
    assert files.epochs("counts") == []
    assert files.read("counts") is None
    assert files.rows("counts") == 0


def test_reads_in_order_of_epoch_and_part_however_written(files):
    for epoch, part in ((10, 0), (2, 11), (2, 3)):
        files.write("counts", epoch, part, table(epoch * 100 + part))
    files.write("others", 7, 0, table(-1))
    assert numbers(files) == [203, 211, 1000]
    assert files.epochs("counts") == [2, 10]
    assert numbers(files, [10]) == [1000]
    assert files.rows("counts") == 3


def test_uncommitted_files_are_not_read(files):
    files.write("counts", 0, 0, table(1, 2))
    assert files.read("counts") is None
    assert files.epochs("counts") == []
    assert files.rows("counts") == 0
    assert numbers(files) == [1, 2]
    assert files.rows("counts") == 2


def test_a_task_that_runs_again_changes_nothing(files):
    files.write("counts", 0, 0, table(1, 2))
    files.write("counts", 0, 1, table(9))
    files.write("counts", 0, 0, table(1, 2))
    assert numbers(files) == [1, 2, 9]
    files.write("counts", 0, 0, table(7))
    assert numbers(files) == [1, 2, 9]


def test_files_from_before_belong_to_the_first_epoch(files):
    before = EpochFiles(files.commits, name=BEFORE)
    before.write("counts", 5, 0, table(4))
    files.commits.commit(BEFORE)
    files.write("counts", 0, 1, table(8))
    files.write("counts", 1, 0, table(9))
    assert numbers(files) == [4, 8, 9]
    assert numbers(files, [0]) == [4, 8]


def test_leaves_no_other_files(files):
    files.write("counts", 0, 0, table(1))
    files.write("counts", 0, 1, table())
    assert numbers(files) == [1]
    names = [path.name for path in root_of(files).rglob("*") if path.is_file()]
    assert sorted(names) == ["epoch=00000000.json", "part-00000.parquet"]


def test_files_have_the_permissions_of_any_other(files):
    files.write("counts", 0, 0, table(1))
    (root_of(files) / "plain").touch()
    (written,) = root_of(files).rglob("part-*.parquet")
    assert written.stat().st_mode == (root_of(files) / "plain").stat().st_mode


def test_a_write_that_fails_leaves_nothing_behind(files, monkeypatch):
    written = Path.write_bytes

    def full(path, content):
        written(path, content[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RunError, match="No space left on device"):
        files.write("counts", 0, 0, table(1))
    assert not [path for path in root_of(files).rglob("*") if path.is_file()]


def test_an_empty_table_makes_no_directory(files):
    files.write("counts", 0, 0, table())
    assert not root_of(files).exists()


def test_they_are_serialised_to_tasks(files):
    pickle.loads(pickle.dumps(files)).write("counts", 1, 2, table(5))
    assert numbers(files) == [5]


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RunError, match=r"file/.*/counts/part-00000-.* cannot be written"):
        EpochFiles(tmp_path / "file").write("counts", 0, 0, table(1))


def test_a_damaged_file_is_named(files):
    files.write("counts", 3, 1, table(1))
    assert numbers(files) == [1]
    damaged = root_of(files) / "counts" / "epoch=00000003" / "part-00001.parquet"
    damaged.write_bytes(b"not parquet")
    with pytest.raises(RunError, match=r"part-00001\.parquet cannot be read"):
        files.read("counts")
