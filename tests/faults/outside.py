"""Runs of files as users start them, and their results, counted by another program."""

from __future__ import annotations

import csv
import os
import random
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.dataset as ds

from tests.processes import end_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EVENKEY = Path(sys.executable).with_name("evenkey")
ROWS = 20_000
SMALL = (
    *("--key", "user", "--workers", "2", "--sources", "2", "--aggregators", "1"),
    *("--epochs", "4", "--rate", "1000", "--master", "local[2]"),
)
"""Options of a run of a file: four epochs, windows of a minute."""


class Ended(NamedTuple):
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """Lines with errors."""
        return [line for line in self.err.splitlines() if line.startswith("error:")]


def written(file: Path, rows: int = ROWS, header: str = "user,amount") -> Path:
    """Write a file of clicks, three in five of one user; always the same ones."""
    draw = random.Random(1)  # noqa: S311 - chance, not secrets
    with file.open("w") as lines:
        lines.write(header + "\n")
        for number in range(rows):
            user = "hot" if draw.random() < 0.6 else f"u{draw.randrange(500)}"
            lines.write(f"{user},{number % 9}\n")
    return file


def run(
    file: Path | str,
    output: Path | str,
    *more: str,
    environment: Mapping[str, str] | None = None,
    limits: str = "",
    seconds: float = 400,
    directory: Path | None = None,
) -> Ended:
    """Run ``evenkey run``, optionally after limits of the shell (``ulimit -n 64``)."""
    words = [str(EVENKEY), "run", *SMALL, "--input", str(file), "--output", str(output), *more]
    return command(words, environment=environment, limits=limits, seconds=seconds, at=directory)


def command(
    words: list[str],
    *,
    environment: Mapping[str, str] | None = None,
    limits: str = "",
    seconds: float = 400,
    at: Path | None = None,
) -> Ended:
    """Run a shell command, and wait for its end."""
    process = begin(words, environment=environment, limits=limits, at=at)
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        end_session(process.pid)
        process.wait()
    return Ended(process.returncode, out, err)


def begin(
    words: list[str],
    *,
    environment: Mapping[str, str] | None = None,
    limits: str = "",
    at: Path | None = None,
) -> subprocess.Popen[str]:
    """Start a command in its own process session."""
    if limits:
        words = ["/bin/bash", "-c", f"{limits}; exec {shlex.join(words)}"]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        env=None if environment is None else dict(environment),
        cwd=at,
        start_new_session=True,
    )


def environment(**changed: str | None) -> dict[str, str]:
    """Return this process's environment with changes; None removes a variable."""
    every = {**os.environ, **changed}
    return {name: value for name, value in every.items() if value is not None}


def counted(*files: Path) -> Counter[str]:
    """Count the users of files, without evenkey and without Spark."""
    csv.field_size_limit(1 << 30)
    users: Counter[str] = Counter()
    for file in files:
        with file.open(newline="") as lines:
            users.update(row["user"] for row in csv.DictReader(lines))
    return users


def results(output: Path | str) -> Counter[str]:
    """Add up a run's results by user; a window has each user once."""
    found: list[dict[str, Any]] = (
        ds.dataset(Path(output) / "results", partitioning="hive").to_table().to_pylist()
    )
    pairs = [(row["window_start"], row["user"]) for row in found]
    assert len(set(pairs)) == len(pairs), "a user is twice in a window"
    users: Counter[str] = Counter()
    for row in found:
        users[row["user"]] += row["count"]
    return users


def assert_exact(ended: Ended, output: Path | str, expected: Counter[str]) -> None:
    """Compare a successful run with the count of its input."""
    assert ended.code == 0, ended.err[-4000:]
    assert results(output) == expected


def assert_refused(ended: Ended, *parts: str, code: Iterable[int] = (1, 2)) -> None:
    """Check that a command stopped with one line that contains these parts."""
    assert ended.code in code, (ended.code, ended.err[-4000:])
    assert len(ended.errors) == 1, ended.err[-4000:]
    assert "Traceback" not in ended.err, ended.err[-4000:]
    for part in parts:
        assert part in ended.errors[0], ended.errors[0]
