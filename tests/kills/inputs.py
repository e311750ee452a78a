"""Seeded input files and their content; nothing here uses evenkey or Spark."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["ORIGIN", "PARTS", "WINDOW_SECONDS", "Input", "Message", "write_lines", "write_parts"]

ORIGIN = datetime(2020, 1, 1, tzinfo=UTC)
"""Time of the first message of every input."""
WINDOW_SECONDS = 60

PARTS = 10
"""Number of files of a user's own stream, one per epoch."""

_BAD_EVERY = 97
_KEYS = 120
_RATES = (20, 25, 40, 50)
"""Lines per second, all divisors of a million, so that times are exact at ends of windows."""
_LINES = 6_000, 15_000


class Message(NamedTuple):
    """A valid message: the number of its window since `ORIGIN`, its key and its number."""

    window: int
    key: str | None
    number: int


class Input(NamedTuple):
    """The content of a file.

    Parameters
    ----------
    messages
        All valid messages.
    rejected
        Position and text of each invalid line.
    lines
        Number of lines.
    rate
        Lines per second.
    """

    messages: list[Message]
    rejected: list[tuple[int, str]]
    lines: int
    rate: int


def write_lines(path: Path, seed: str) -> Input:
    """Write a file in the format of its name, such as ``records.jsonl.gz``."""
    random = _random(seed)
    form, _, compressed = path.name.partition(".")[2].partition(".")
    words = path.name.startswith("words")
    rate = int(random.choice(_RATES))
    count = int(random.integers(*_LINES)) // (2 if words else 1)
    good, bad = (_words, _bad_words) if words else _FORMS[form]
    lines: list[bytes] = []
    messages: list[Message] = []
    rejected: list[tuple[int, str]] = []
    for position in range(count):
        if position % _BAD_EVERY == _BAD_EVERY // 2:
            line = bad(position)
            rejected.append((position, line.decode(errors="replace")))
        else:
            line, found = good(random)
            window = position // (rate * WINDOW_SECONDS)
            messages += [Message(window, key, number) for key, number in found]
        lines.append(line)
    header = [b"n,user,page"] if form == "csv" else []
    _write(path, b"".join(line + b"\n" for line in (*header, *lines)), compressed)
    return Input(messages, rejected, count, rate)


def write_parts(directory: Path, seed: str, *, compressed: bool) -> list[Message]:
    """Write the JSON files of a stream, the last of them far later than all others.

    Each row has ``user``, ``amount``, ``at`` and ``row``, its number. One row in fifty has no
    user. The messages of the last file's window are left out: nothing closes it.
    """
    random = _random(seed)
    rows = int(random.integers(*_LINES)) // PARTS
    rate = int(random.choice(_RATES))
    messages: list[Message] = []
    directory.mkdir(parents=True)
    for part in range(PARTS):
        lines = []
        for row in range(part * rows, (part + 1) * rows):
            key = None if row % 50 == 7 else _key(random)
            amount = int(random.integers(1, 10))
            messages.append(Message(row // (rate * WINDOW_SECONDS), key, amount))
            lines.append(_part_line(row, key, amount, row / rate))
        _write_part(directory, part, lines, compressed=compressed)
    end = PARTS * rows
    last = _part_line(end, "end", 1, end / rate + 10 * WINDOW_SECONDS)
    _write_part(directory, PARTS, [last], compressed=compressed)
    return messages


def _part_line(row: int, key: str | None, amount: int, seconds: float) -> bytes:
    at = (ORIGIN + timedelta(seconds=seconds)).isoformat()
    return json.dumps({"row": row, "user": key, "amount": amount, "at": at}).encode()


def _write_part(directory: Path, part: int, lines: Iterable[bytes], *, compressed: bool) -> None:
    path = directory / f"part-{part:03d}.json{'.gz' if compressed else ''}"
    _write(path, b"".join(line + b"\n" for line in lines), "gz" if compressed else "")
    # Spark reads files in the order of their times.
    moment = ORIGIN.timestamp() + part
    os.utime(path, (moment, moment))


def _write(path: Path, content: bytes, compressed: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    codec = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "": None}[compressed]
    if codec is None:
        path.write_bytes(content)
        return
    with pa.OSFile(str(path), "wb") as file, pa.CompressedOutputStream(file, codec) as stream:
        stream.write(content)


def _random(seed: str) -> np.random.Generator:
    return np.random.default_rng(list(seed.encode()))


def _key(random: np.random.Generator) -> str:
    """Draw a key: one has two messages in five, the others fewer and fewer."""
    if random.random() < 0.4:
        return "hot"
    return f"key {int(_KEYS * random.random() ** 3)}"


def _line(random: np.random.Generator) -> tuple[bytes, Sequence[tuple[str | None, int]]]:
    key = _key(random)
    return key.encode(), [(key, 1)]


def _bad_line(position: int) -> bytes:
    return b"" if position % 2 else b"\xff %d" % position


def _words(random: np.random.Generator) -> tuple[bytes, Sequence[tuple[str | None, int]]]:
    keys = [_key(random).replace(" ", "") for _ in range(random.integers(0, 5))]
    return ", ".join(keys).encode(), [(key, 1) for key in keys]


def _bad_words(position: int) -> bytes:
    return b"word \xff %d" % position


def _record(random: np.random.Generator) -> tuple[bytes, Sequence[tuple[str | None, int]]]:
    key = None if random.random() < 0.02 else _key(random)
    number = int(random.integers(1, 10))
    return json.dumps({"user": key, "n": number}).encode(), [(key, number)]


def _bad_record(position: int) -> bytes:
    return (b'{"n": %d}', b'{"user": "a", "n": %d', b'{"user": "a", "n": -%d')[position % 3] % (
        position
    )


def _row(random: np.random.Generator) -> tuple[bytes, Sequence[tuple[str | None, int]]]:
    key, number = _key(random), int(random.integers(1, 10))
    return f"{number},{key},/".encode(), [(key, number)]


def _bad_row(position: int) -> bytes:
    return (b"%d,alone", b"0,nobody,%d", b"some,nobody,%d")[position % 3] % position


_FORMS = {
    "txt": (_line, _bad_line),
    "jsonl": (_record, _bad_record),
    "csv": (_row, _bad_row),
}
