"""A process of a run: start it, watch its progress, and end it."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.processes import end_session, java_of, members

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kills.schedule import Phase

__all__ = ["LONGEST_WAIT", "Living", "Where"]

LONGEST_WAIT = 240.0
"""Maximum seconds to wait for an expected event."""

_POLL_SECONDS = 0.1
_WRITTEN_BY_EPOCHS = (
    *("checkpoint/offsets", "checkpoint/commits", "checkpoint/state"),
    *("epochs", "join/epochs", "commits", "parts"),
)
"""Parts of a run's state that are written only in epochs, not at its start."""
_ROOT = Path(__file__).parents[2]


class Where(NamedTuple):
    """The progress of a run.

    Parameters
    ----------
    phase
        ``starting``: no epoch of this process has begun; ``inside`` an epoch; ``between`` two;
        ``closing`` windows.
    epoch
        The epoch that was running, or the next one.
    """

    phase: Phase
    epoch: int


class Living:
    """A process in its own process session.

    Parameters
    ----------
    command
        Command of the process.
    output
        Output directory of the run.
    place
        Path of the files with its printed output, without suffix.
    """

    def __init__(self, command: list[str], output: Path, place: Path) -> None:
        self._output = output
        self._printed, self._log = place.with_suffix(".out"), place.with_suffix(".log")
        self._started = time.time()
        self._ended_before = self.epochs_ended()
        with self._printed.open("w") as out, self._log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=log, start_new_session=True, cwd=_ROOT
            )
        self.pid = self.process.pid
        self._gone = False

    @property
    def runs(self) -> bool:
        """Return whether the driver is alive."""
        return self.process.poll() is None

    def wait(self, seconds: float = LONGEST_WAIT) -> int | None:
        """Wait until the driver has ended, and return its exit code; None: it has not ended."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def wait_until_gone(self, seconds: float) -> bool:
        """Wait until the session has no processes; return whether that happened in time."""
        self._gone = self.until(lambda: not members(self.pid), seconds, alive=False)
        return self._gone

    def until(
        self, holds: Callable[[], object], seconds: float = LONGEST_WAIT, *, alive: bool = True
    ) -> bool:
        """Wait for a condition; return whether it held in time, while the driver was alive."""
        deadline = time.monotonic() + seconds
        while not holds():
            if (alive and not self.runs) or time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def end(self) -> None:
        """Kill all remaining processes of the session."""
        leaders = [each.pid for each in members(self.pid) if each.pid == self.pid]
        another = leaders and self.process.returncode is not None
        if not self._gone and not another:
            end_session(self.pid)
        # From here on, the process id may belong to another process.
        self._gone = True
        self.process.wait()

    def report(self) -> dict[str, Any] | None:
        """Return the JSON that the process printed."""
        try:
            report: dict[str, Any] = json.loads(self._printed.read_text())
        except ValueError:
            return None
        return report

    def said(self) -> str:
        """Return the standard error of the process."""
        return self._log.read_text(errors="replace")

    def reached(self, phase: Phase, after: int) -> bool:
        """Return whether the process is in a phase, and has completed this many epochs."""
        if phase == "starting":
            return bool(java_of(self.pid)) and (self._output / "state").exists()
        ended = self.epochs_ended() - self._ended_before
        return self.at_work() and (ended >= after if phase == "inside" else self._closes())

    def where(self) -> Where:
        """Return the progress of the process."""
        begun, ended = self._numbers("offsets"), self._numbers("commits")
        following = max(ended, default=-1) + 1
        if not self.at_work():
            return Where("starting", following)
        if self._closes():
            return Where("closing", following)
        return Where("inside" if begun - ended else "between", following)

    def at_work(self) -> bool:
        """Return whether an epoch of this process has written files."""
        return any(
            _changed(file) > self._started
            for name in _WRITTEN_BY_EPOCHS
            for file in (self._output / "state" / name).rglob("*")
        )

    def epochs_ended(self) -> int:
        """Return the number of completed epochs of the run, in all its processes."""
        return len(self._numbers("commits"))

    def _closes(self) -> bool:
        """Return whether the closing file exists."""
        own = self._output / "state" / "closing"
        signs = Path(tempfile.gettempdir()).glob(f"evenkey-signs-{self.pid}-*/closing")
        return own.exists() or any(signs)

    def _numbers(self, log: str) -> set[int]:
        files = (self._output / "state" / "checkpoint" / log).glob("[0-9]*")
        return {int(file.name) for file in files if file.name.isdecimal()}


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
