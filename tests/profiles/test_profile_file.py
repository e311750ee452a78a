"""Profiles as files: for their owner only, whole, and refused if of another format."""

from __future__ import annotations

import functools
import json
import os
import stat
import threading

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.profiles import (
    HotKey,
    Operation,
    Profile,
    SampledRows,
    TaskFigures,
    check_writable,
    read_profile,
    update_profile,
    write_profile,
)

SIDE = SampledRows(10.0, (HotKey(2**64 - 1, 8.0), HotKey(7, 1.5, "ann, é")))
PROFILE = Profile(
    {
        "0f": Operation("join left", ("(a = b)",), ("t", "p"), 1_700_000_000.25, 1.5, (SIDE, SIDE)),
        "1f": Operation(
            "write", ("day",), (), 0.0, tasks=TaskFigures("app-1", 12.5, (3, 4), (0.5, 1.25))
        ),
    }
)


def test_what_is_written_is_read(tmp_path):
    write_profile(tmp_path / "p.json", PROFILE)
    assert read_profile(tmp_path / "p.json") == PROFILE


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_only_the_owner_may_read_it(tmp_path, mask):
    path = tmp_path / "p.json"
    path.write_text("{}")
    path.chmod(0o644)
    before = os.umask(mask)
    try:
        write_profile(path, PROFILE)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_reader_never_sees_a_part(tmp_path):
    path = tmp_path / "p.json"
    write_profile(path, PROFILE)
    ended = threading.Event()

    def write():
        for _ in range(100):
            write_profile(path, PROFILE)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    reads = 0
    while not ended.is_set() or not reads:
        assert read_profile(path) == PROFILE
        reads += 1
    writer.join()
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]


def test_nothing_is_lost_if_several_programs_change_it_at_the_same_time(tmp_path):
    path = tmp_path / "p.json"
    operation = next(iter(PROFILE.operations.values()))

    def add(name):
        for number in range(10):
            added = Profile({f"{name}-{number}": operation})
            update_profile(path, functools.partial(added.merged, at=operation.at))

    writers = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    names = {f"{name}-{number}" for name in "abcd" for number in range(10)}
    assert set(read_profile(path).operations) == names
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]


def test_whether_it_can_be_written_is_known_before(tmp_path):
    path = tmp_path / "p.json"
    check_writable(path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigurationError, match="cannot be written"):
        check_writable(tmp_path / "no" / "p.json")


def test_another_format_is_refused_in_one_line(tmp_path):
    path = tmp_path / "p.json"
    write_profile(path, PROFILE)
    values = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**values, "format": 2}))
    with pytest.raises(ConfigurationError) as error:
        read_profile(path)
    assert str(error.value) == (
        f"{path} is of format 2 and this version of evenkey reads 1: another version wrote it; "
        "delete the file and record a new profile"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "because it is not JSON"),
        ("[]", "is no profile"),
        ('{"applications": []}', "is no profile"),
        ('{"kind": "evenkey profile", "format": 1}', "is corrupt"),
        ('{"kind": "evenkey profile", "format": 1, "operations": {"a": {}}}', "is corrupt"),
        ('{"kind": "evenkey profile", "format": 1, "operations": []}', "is corrupt"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, content, reason):
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=reason) as error:
        read_profile(path)
    assert "\n" not in str(error.value)
    assert "pass a file that eks.record wrote" in str(error.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("key", {"a": 1}),
        ("key", 7),
        ("rows", float("nan")),
        ("rows", float("inf")),
    ],
)
def test_a_key_is_text_and_rows_are_a_number(tmp_path, field, value):
    path = tmp_path / "p.json"
    write_profile(path, PROFILE)
    content = json.loads(path.read_text("utf-8"))
    content["operations"]["0f"]["inputs"][0]["keys"][1][field] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ConfigurationError, match="the profile is corrupt"):
        read_profile(path)


def test_a_file_that_cannot_be_written_or_read_is_named(tmp_path):
    missing = tmp_path / "no" / "p.json"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_profile(missing, PROFILE)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_profile(missing)
