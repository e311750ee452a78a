"""Lines are read by number, for any range and any line ending."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from socket import gethostname

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.streams import LineIndex, files, find_files

contents = st.lists(st.lists(st.sampled_from([b"a", b"bcd", b"\r", b"\n", b"\xff"]), max_size=30))


def naive_lines(content):
    if b"\r" in content and b"\n" not in content:
        return content.removesuffix(b"\r").split(b"\r")
    lines = content.split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


def written(directory, *contents):
    paths = [Path(directory) / f"{number}.txt" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


@given(contents, st.integers(0, 100), st.integers(0, 100), st.sampled_from([3, 1 << 23]))
def test_any_range_of_lines(parts, start, stop, chunk):
    whole = [b"".join(part) for part in [*parts, [b"end"]]]
    expected = [line for content in whole for line in naive_lines(content)]
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        # Blocks and chunks are so small that ranges include many of them.
        patch.setattr(files, "_BLOCK_LINES", 4)
        patch.setattr(files, "_CHUNK_BYTES", chunk)
        index = LineIndex.build(written(directory, *whole))
        assert index.lines == len(expected)
        assert index.read(start, stop).to_pylist() == expected[start:stop]


def test_many_blocks_over_many_files(tmp_path):
    lines = [f"line {number}".encode() for number in range(3000)]
    paths = written(tmp_path, *(b"\n".join(lines[at : at + 700]) for at in range(0, 3000, 700)))
    index = pickle.loads(pickle.dumps(LineIndex.build(paths)))
    for start, stop in [(0, 3000), (255, 257), (699, 701), (650, 2200), (2999, 3001), (9, 9)]:
        assert index.read(start, stop).to_pylist() == lines[start:stop]


def test_headers_are_left_out(tmp_path):
    paths = written(tmp_path, b"a,b\r\n1\n2", b"", b"\xef\xbb\xbfa,b\n3\n", b"a,b")
    index = LineIndex.build(paths, csv=True)
    assert index.read(0, 9).to_pylist() == [b"1", b"2", b"3"]
    assert [index.header(file) for file in range(4)] == [b"a,b", b"", b"\xef\xbb\xbfa,b", b"a,b"]


def test_a_file_without_line_feeds_has_lines_that_end_with_carriage_returns(tmp_path):
    paths = written(tmp_path, b"a,b\r1\r\r2\r", b"a,b\n3\r4\n", b"\xef\xbb\xbfa,b\r5", b"a,b")
    index = pickle.loads(pickle.dumps(LineIndex.build(paths, csv=True)))
    assert index.read(0, 9).to_pylist() == [b"1", b"", b"2", b"3\r4", b"5"]
    assert [index.header(file) for file in (0, 2)] == [b"a,b", b"\xef\xbb\xbfa,b"]


def test_a_byte_order_mark_is_left_out(tmp_path):
    index = LineIndex.build(written(tmp_path, b"\xef\xbb\xbfone\ntwo", b"\xef\xbb\xbf"))
    assert index.read(0, 9).to_pylist() == [b"one", b"two"]


def test_no_line_at_all(tmp_path):
    paths = written(tmp_path, b"", b"")
    with pytest.raises(ConfigurationError, match=r"1\.txt holds no line: name a file with mess"):
        LineIndex.build(paths)
    paths = written(tmp_path, b"only,header\n")
    with pytest.raises(ConfigurationError, match="holds no line"):
        LineIndex.build(paths, csv=True)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigurationError, match=r"gone\.txt cannot be read .No such file"):
        LineIndex.build([tmp_path / "gone.txt"])


def test_a_file_that_changed_is_refused(tmp_path):
    paths = written(tmp_path, b"one\ntwo\n")
    index = LineIndex.build(paths)
    paths[0].write_bytes(b"one\ntwo\nthree\n")
    with pytest.raises(RunError, match=r"0\.txt has changed since the run began: restore it"):
        index.read(0, 1)
    paths[0].unlink()
    with pytest.raises(
        RunError, match=rf"any more on host {gethostname()} \(.*executors read it under"
    ):
        index.read(0, 1)


LINES = b"".join(b"line %d\n" % number for number in range(1000))


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b"line 500\n", b"LINE 500\n"),
        (b"line 500\nline 501\n", b"line 5\nline 0501\n\n"),
        (b"line 511\nline 512\n", b"line 51\nline  512\n"),
        (b"line 999\n", b"line 9999"),
    ],
)
def test_other_content_of_the_same_size_is_refused_when_it_is_read(tmp_path, was, now):
    cut = LINES.index(b"line 450\n")
    paths = written(tmp_path, LINES[:cut], LINES[cut:])
    index = pickle.loads(pickle.dumps(LineIndex.build(paths)))
    paths[1].write_bytes(LINES[cut:].replace(was, now))
    assert paths[1].stat().st_size == len(LINES) - cut
    with pytest.raises(RunError, match=r"1\.txt has changed since the run began: restore it"):
        index.read(0, 1000)
    # Other pieces of the file are still read as before.
    assert index.read(0, 256).to_pylist() == LINES.split(b"\n")[:256]
    paths[1].write_bytes(LINES[cut:])
    assert index.read(0, 1000).to_pylist() == LINES.split(b"\n")[:1000]


@given(contents, st.integers(0, 200), st.sampled_from([3, 1 << 23]), st.booleans())
def test_any_changed_byte_is_noticed_by_who_reads_it(parts, place, chunk, header):
    whole = [b"".join(part) for part in [*parts, [b"a,b\n" + b"c\n" * 20 + b"end"]]]
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_BLOCK_LINES", 4)
        patch.setattr(files, "_CHUNK_BYTES", chunk)
        paths = written(directory, *whole)
        index = LineIndex.build(paths, csv=header)
        content = bytearray(whole[-1])
        content[place % len(content)] ^= 0x04
        paths[-1].write_bytes(content)
        with pytest.raises(RunError, match="has changed since the run began"):
            index.read(0, index.lines + 1)


@pytest.fixture
def tree(tmp_path):
    for name in ["b.txt", "a.txt", "deep/c.txt", ".hidden", "_SUCCESS", "deep/__init__.py"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata" / "0").write_text("x")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("given_paths", "found"),
    [
        (["a.txt"], ["a.txt"]),
        ([""], ["a.txt", "b.txt", "deep/__init__.py", "deep/c.txt"]),
        (["*.txt"], ["a.txt", "b.txt"]),
        (["**/*.txt"], ["a.txt", "b.txt", "deep/c.txt"]),
        (["d*"], ["deep/__init__.py", "deep/c.txt"]),
        (["b.txt", "a.txt"], ["b.txt", "a.txt"]),
        ([".hidden"], [".hidden"]),
    ],
)
def test_paths_stand_for_files(tree, given_paths, found, monkeypatch):
    assert find_files(tree / each for each in given_paths) == [tree / each for each in found]
    monkeypatch.chdir(tree)
    assert find_files(each or "." for each in given_paths) == [tree / each for each in found]


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("gone.txt", "gone.txt is not there: name a file, a directory of files or a glob"),
        ("*.csv", "is not there"),
        ("empty", "empty holds no file"),
        ("a.txt/inside", "is not there"),
        ("n" * 300, "cannot be read"),
    ],
)
def test_paths_that_name_nothing(tree, path, fix):
    with pytest.raises(ConfigurationError, match=fix):
        find_files([tree / path])
