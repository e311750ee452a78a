"""A file is replaced completely, or stays unchanged."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.whole_files import create_whole, replacing, sealed, unsealed, write_whole


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


@pytest.mark.slow(4)
def test_of_many_that_create_a_file_one_does(tmp_path):
    target = tmp_path / "file"
    for _ in range(50):
        ready = threading.Barrier(8)

        def create(number, ready=ready):
            ready.wait()
            return create_whole(target, b"%d" % number * 1000)

        with ThreadPoolExecutor(8) as pool:
            made = [each.result() for each in [pool.submit(create, n) for n in range(8)]]
        assert target.read_bytes() == b"%d" % made.index(True) * 1000
        assert made.count(True) == 1
        assert list(tmp_path.iterdir()) == [target]
        target.unlink()


def test_what_is_there_is_left_alone(tmp_path):
    assert create_whole(tmp_path / "file", b"first", durable=True)
    assert not create_whole(tmp_path / "file", b"second", durable=True)
    assert (tmp_path / "file").read_bytes() == b"first"


@pytest.mark.slow(3)
@given(st.binary(max_size=40), st.integers(0, 80), st.integers(1, 255))
def test_a_seal_that_was_broken_is_seen(content, place, bits):
    data = sealed(content)
    assert unsealed(data) == content
    changed = bytearray(data)
    changed[place % len(data)] ^= bits
    for broken in (bytes(changed), data[: place % len(data)], data + b"x"):
        with pytest.raises(ValueError, match="it was cut short or changed"):
            unsealed(broken)
