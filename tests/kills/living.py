"""A process of a run: started, watched where it is, and gone at the end."""

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
"""Seconds after which what should have happened is not waited for any longer."""

_POLL_SECONDS = 0.1
_WRITTEN_BY_EPOCHS = (
    *("checkpoint/offsets", "checkpoint/commits", "checkpoint/state"),
    *("epochs", "join/epochs", "commits", "parts"),
)
"""Parts of a run's state that are written in epochs, and not while it starts."""
_ROOT = Path(__file__).parents[2]


class Where(NamedTuple):
    """How far a run was.

    Parameters
    ----------
    phase
        ``starting``: no epoch of this process has begun; ``inside`` an epoch; ``between`` two;
        ``closing`` windows.
    epoch
        The one that was running or was to come next.
    """

    phase: Phase
    epoch: int


class Living:
    """A process in a session of its own.

    Parameters
    ----------
    command
        What it runs.
    output
        The directory of its run.
    place
        Path of what it prints, without suffix.
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
        """Whether its driver lives."""
        return self.process.poll() is None

    def wait(self, seconds: float = LONGEST_WAIT) -> int | None:
        """Wait until the driver has ended, and give its exit code; None: it has not."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def wait_until_gone(self, seconds: float) -> bool:
        """Wait until nothing of the session is left; whether that was so in time."""
        self._gone = self.until(lambda: not members(self.pid), seconds, alive=False)
        return self._gone

    def until(
        self, holds: Callable[[], object], seconds: float = LONGEST_WAIT, *, alive: bool = True
    ) -> bool:
        """Wait until something holds; whether it did so in time, and while the driver lived."""
        deadline = time.monotonic() + seconds
        while not holds():
            if (alive and not self.runs) or time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def end(self) -> None:
        """Kill what is left of it, once and for all."""
        leaders = [each.pid for each in members(self.pid) if each.pid == self.pid]
        another = leaders and self.process.returncode is not None
        if not self._gone and not another:
            end_session(self.pid)
        # Its number may be given to another process from here on.
        self._gone = True
        self.process.wait()

    def report(self) -> dict[str, Any] | None:
        """Give what it printed as JSON."""
        try:
            report: dict[str, Any] = json.loads(self._printed.read_text())
        except ValueError:
            return None
        return report

    def said(self) -> str:
        """Give what it wrote to standard error."""
        return self._log.read_text(errors="replace")

    def reached(self, phase: Phase, after: int) -> bool:
        """Whether it has come as far as a phase, and has ended so many epochs."""
        if phase == "starting":
            return bool(java_of(self.pid)) and (self._output / "state").exists()
        ended = self.epochs_ended() - self._ended_before
        return self.at_work() and (ended >= after if phase == "inside" else self._closes())

    def where(self) -> Where:
        """Say how far it is."""
        begun, ended = self._numbers("offsets"), self._numbers("commits")
        following = max(ended, default=-1) + 1
        if not self.at_work():
            return Where("starting", following)
        if self._closes():
            return Where("closing", following)
        return Where("inside" if begun - ended else "between", following)

    def at_work(self) -> bool:
        """Whether an epoch of this process has left something behind."""
        return any(
            _changed(file) > self._started
            for name in _WRITTEN_BY_EPOCHS
            for file in (self._output / "state" / name).rglob("*")
        )

    def epochs_ended(self) -> int:
        """How many epochs of the run have ended, in all its processes."""
        return len(self._numbers("commits"))

    def _closes(self) -> bool:
        """Whether the sign is there that lets windows close."""
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
