"""Compressed files are read completely, or there is an error."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import LineIndex
from evenkey.core.streams.compressed import unpack

LINES = [f"line {number}".encode() for number in range(3000)]
TEXT = b"\n".join(LINES)
DATA = Path(os.environ.get("EVENKEY_DATA", Path(__file__).parents[2] / "../shared/data"))


def zstd(content):
    return pa.Codec("zstd").compress(content, asbytes=True)


PACKED = {".gz": gzip.compress(TEXT), ".bz2": bz2.compress(TEXT), ".zst": zstd(TEXT)}
endings = pytest.mark.parametrize("ending", PACKED)


@endings
def test_lines_of_a_compressed_file(tmp_path, ending):
    plain, packed = tmp_path / "a.txt", tmp_path / f"b.txt{ending.upper()}"
    plain.write_bytes(TEXT + b"\n")
    packed.write_bytes(PACKED[ending])
    paths = unpack([plain, packed], tmp_path / "new" / "unpacked")
    assert paths == [plain, tmp_path / "new" / "unpacked" / "1-b.txt"]
    index = LineIndex.build(paths)
    assert index.read(2990, 5000).to_pylist() == (LINES + LINES)[2990:5000]
    assert [each.name for each in paths[1].parent.iterdir()] == ["1-b.txt"]


@endings
def test_several_archives_in_one_file(tmp_path, ending):
    (tmp_path / f"a{ending}").write_bytes(PACKED[ending] * 2)
    (path,) = unpack([tmp_path / f"a{ending}"], tmp_path / "unpacked")
    assert path.read_bytes() == TEXT * 2


@endings
@pytest.mark.parametrize("damage", ["cut", "halved", "foreign"])
def test_an_incomplete_archive_is_named(tmp_path, ending, damage):
    packed = PACKED[ending]
    content = {"cut": packed[:-5], "halved": packed[: len(packed) // 2], "foreign": TEXT}[damage]
    (tmp_path / f"a{ending}").write_bytes(content)
    with pytest.raises(
        ConfigurationError, match=rf"a\{ending} is not a complete \w+ file .*: fetch it"
    ):
        unpack([tmp_path / f"a{ending}"], tmp_path / "unpacked")
    assert list((tmp_path / "unpacked").iterdir()) == []


def test_what_cannot_be_read_or_written_is_named(tmp_path, monkeypatch):
    with pytest.raises(ConfigurationError, match=r"gone\.gz cannot be read .No such file"):
        unpack([tmp_path / "gone.gz"], tmp_path)
    (tmp_path / "a.gz").write_bytes(PACKED[".gz"])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(ConfigurationError, match=r"a\.gz cannot be unpacked to .*No space left"):
        unpack([tmp_path / "a.gz"], tmp_path / "unpacked")
    assert list((tmp_path / "unpacked").iterdir()) == []


def test_the_graph_of_epinions(tmp_path):
    file = DATA / "soc-Epinions1.txt.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there; EVENKEY_DATA names the directory that holds it")
    index = LineIndex.build(unpack([file], tmp_path))
    assert index.lines == 405_740
    assert index.read(0, 2).to_pylist() == [b"# soc-Epinions1 75877 405739 10", b"0 1"]
