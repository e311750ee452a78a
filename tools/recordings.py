"""Record what commands show in a terminal, from their first to their last second, as text.

``python -m tools.recordings [NAME ...]`` runs commands in a pseudo-terminal and writes a file for
each into ``build/recordings``. A line of a recording is the second since the start and the text
that a line of the screen then had. It is written each time that text changes, so a recording has
every state of a progress bar; the time and the rate in it change most often.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "Screen", "main", "record"]

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "recordings"
COLUMNS, LINES = 100, 60

COMMANDS = {
    "evenkey": "",
    "join": "join",
    "simulate": "simulate --dataset country-skew-r80 --messages 200000 --grouping pkg --workers 8",
    "advise": "advise {place}/clicks.csv --key user",
    "diagnose": "diagnose tests/diagnosis/logs/apply-skewed.gz",
    "run": "run --input {place}/clicks.csv --key user --workers 4 --output {place}/run",
    "compare": "compare --dataset zipf(z=1.4,keys=10000) --messages 20000 --groupings kg,pkg "
    "--workers 4",
    "join-run": "join run --pipeline spis --skew 0.7 --workers 4 --publications 2000 "
    "--subscriptions 500 --epochs 3",
}
"""Arguments of ``evenkey`` by the name of the recording; ``{place}`` is a temporary directory."""

_PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+|\x1b.?")
_READ = 65_536
_ERASE_DOWN, _ERASE_ALL = "J", "2"


class Screen:
    r"""The lines of a terminal, as far as progress bars and tables move the cursor.

    Examples
    --------
    >>> screen = Screen()
    >>> screen.write("1 of 2")
    ['1 of 2']
    >>> screen.write("\r\x1b[2K2 of 2\r\ndone")
    ['2 of 2', 'done']
    >>> screen.write("\x1b[1A\r\x1b[2Kall")
    ['all']
    """

    def __init__(self) -> None:
        self._lines = [""]
        self._row = self._column = 0
        self._unfinished = ""

    def write(self, text: str) -> list[str]:
        """Show a text; return the lines that differ from before and are not empty."""
        before = list(self._lines)
        text, self._unfinished = self._unfinished + text, ""
        cut = re.search(r"\x1b(\[[0-9;?]*)?$", text)
        if cut:
            text, self._unfinished = text[: cut.start()], cut[0]
        for part in _PART.finditer(text):
            self._show(part[0], part[1] or "", part[2] or "")
        pairs = enumerate(line.rstrip() for line in self._lines)
        return [line for row, line in pairs if line and (row >= len(before) or line != before[row])]

    def _show(self, part: str, number: str, command: str) -> None:
        if command:
            self._command(number, command)
        elif part == "\r":
            self._column = 0
        elif part == "\n":
            self._move_to(self._row + 1)
        elif not part.startswith("\x1b"):
            line = self._lines[self._row].ljust(self._column)
            end = self._column + len(part)
            self._lines[self._row] = line[: self._column] + part + line[end:]
            self._column = end

    def _command(self, number: str, command: str) -> None:
        count = int(number) if number.isdigit() else 1
        if command == "A":
            self._move_to(max(0, self._row - count))
        elif command == "B":
            self._move_to(self._row + count)
        elif command == "K":
            whole = number == _ERASE_ALL
            self._lines[self._row] = "" if whole else self._lines[self._row][: self._column]
        elif command == _ERASE_DOWN:
            self._lines[self._row + 1 :] = []

    def _move_to(self, row: int) -> None:
        self._row = row
        while len(self._lines) <= row:
            self._lines.append("")


def record(arguments: Sequence[str], file: Path, *, columns: int = COLUMNS) -> int:
    """Run a program in a pseudo-terminal, write its recording, and return its exit code.

    Parameters
    ----------
    arguments
        The program and its arguments.
    file
        File of the recording.
    columns
        Width of the terminal.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1"}
    for name in ("COLUMNS", "LINES"):
        environment.pop(name, None)
    began = time.monotonic()
    decoder, screen = codecs.getincrementaldecoder("utf-8")("replace"), Screen()
    file.parent.mkdir(parents=True, exist_ok=True)
    with (
        file.open("w", encoding="utf-8") as recording,
        subprocess.Popen(  # noqa: S603 - a command of this file, or of a test
            arguments, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment
        ) as process,
    ):
        os.close(theirs)
        recording.write(f"$ {' '.join(map(str, arguments))}\n")
        while content := _content(ours, process):
            seconds = time.monotonic() - began
            for line in screen.write(decoder.decode(content)):
                recording.write(f"{seconds:7.2f}  {line}\n")
            recording.flush()
        code = process.wait()
        recording.write(f"{time.monotonic() - began:7.2f}  exit code {code}\n")
    os.close(ours)
    return code


def _content(terminal: int, process: subprocess.Popen[bytes]) -> bytes:
    """Return what was written next; nothing at the end of the process."""
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if ready:
            try:
                return os.read(terminal, _READ)
            except OSError:  # no process has the terminal open any more
                return b""
        if process.poll() is not None:
            return b""


def main(names: Sequence[str]) -> int:
    """Record commands by name, by default all; return 1 if a command failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.recordings", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: {' '.join(COMMANDS)}")
    chosen = parser.parse_args(names).names or [*COMMANDS]
    unknown = [each for each in chosen if each not in COMMANDS]
    if unknown:
        parser.error(f"no recording {unknown[0]!r}; there are: {', '.join(COMMANDS)}")
    codes = {}
    with tempfile.TemporaryDirectory() as place:
        lines = (f"user {number % 97 if number % 3 else 0},{number}" for number in range(50_000))
        Path(place, "clicks.csv").write_text("\n".join(["user,n", *lines]), "utf-8")
        for name in chosen:
            arguments = [each.format(place=place) for each in COMMANDS[name].split()]
            command = [sys.executable, "-m", "evenkey", *arguments]
            codes[name] = record(command, PLACE / f"{name}.txt")
            print(f"{PLACE / name}.txt: exit code {codes[name]}", flush=True)
    return 1 if any(codes.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
