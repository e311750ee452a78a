"""Files are replaced whole or stay as they were."""

from __future__ import annotations

import os
import stat

import pytest

from evenkey.files import replacing, write_whole


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path, durable):
    path = tmp_path / "state"
    write_whole(path, b"before")
    write_whole(path, b"after", durable=durable)
    assert path.read_bytes() == b"after"
    assert [*tmp_path.iterdir()] == [path]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_a_writer_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "state"
    write_whole(path, b"before")

    def fail():
        with replacing(path) as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"before"
    assert [*tmp_path.iterdir()] == [path]


def test_writers_side_by_side_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "state"
    with replacing(path) as first, replacing(path) as second:
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert path.read_bytes() == b"first"
    assert [*tmp_path.iterdir()] == [path]
