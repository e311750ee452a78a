"""Play one run of the schedule: kill it, continue it, repeat, and compare its results."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.kills.living import LONGEST_WAIT, Living
from tests.kills.strikes import STRIKES, Target, not_one_line
from tests.kills.subjects import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType
    from typing import Self

    from tests.kills.schedule import Kill, Run
    from tests.kills.strikes import Struck

__all__ = ["play", "repeat"]

Record = dict[str, Any]


def repeat(run: Run) -> str:
    """Return the command that plays one run alone."""
    return f"{sys.executable} -m tests.kills --seed {run.seed} --run {run.number}"


def play(run: Run, directory: Path, tell: Callable[[Record], None]) -> Record:
    """Play a run in an empty directory.

    Leaves no process behind, even after an error.

    Parameters
    ----------
    tell
        Function that is called with the record of each kill.

    Returns
    -------
    dict
        The record of the run: ``kills`` that hit it, its ``faults`` as text, and ``exact``:
        whether its results equal the independent count.
    """
    began = time.monotonic()
    with _Game(run, directory) as game:
        hits, faults = 0, []
        for number, kill in enumerate(run.kills):
            record = game.strike(kill)
            tell({"seed": run.seed, "run": run.number, "kill": number, **record})
            hits += record["hit"]
            faults += record["faults"]
            if game.over:
                break
        ending, differences = game.finish()
    return {
        "seed": run.seed,
        "run": run.number,
        "subject": run.subject,
        **{name: value for name, value in _parts(run).items() if value},
        "kills": hits,
        "exact": not differences,
        "faults": faults + ending + differences,
        "seconds": round(time.monotonic() - began, 1),
        "repeat": repeat(run),
    }


def _parts(run: Run) -> dict[str, str]:
    names = ("grouping", "aggregator", "form", "pipeline", "mode")
    return {name: getattr(run, name) for name in names}


class _Game:
    """The processes of one run."""

    def __init__(self, run: Run, directory: Path) -> None:
        self._subject = subject_of(run, directory)
        self._directory = directory
        self._living: Living | None = None
        self._all: list[Living] = []
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._undo.enter_context(_ended_by_signals())
        self._undo.callback(self._end_all)
        self._subject.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def over(self) -> bool:
        """Return whether a process has reached the end of the run by itself."""
        return any(each.process.returncode == 0 for each in self._all)

    def strike(self, kill: Kill) -> Record:
        """Wait for the time of a kill, strike, and return what happened.

        A kill after the end of the run does not count as a hit.
        """
        asked = {"kind": kill.kind, "asked": kill.phase, "after": kill.after, "delay": kill.delay}
        living = self._going()
        if not self._reach(living, kill):
            ended = living.wait(0)
            return {**asked, "hit": False, "ended": ended, "faults": self._failed(living, ended)}
        where = living.where()
        struck = STRIKES[kill.kind](Target(living, kill, self._subject, self._start))
        self._take(living, struck)
        if struck.living is None and not struck.leftovers:
            struck.faults += self._subject.surplus()
        return {
            **asked,
            "hit": struck.hit,
            "phase": where.phase,
            "epoch": where.epoch,
            "how": struck.how,
            "ended": struck.ended,
            "faults": struck.faults,
        }

    def finish(self) -> tuple[list[str], list[str]]:
        """Let the run end, then run its command again; return its exit codes and differences."""
        faults = []
        if self._living is not None:
            ended = self._living.wait()
            faults += self._failed(self._living, ended)
        last = self._start(slow=False)
        ended = last.wait()
        if ended != 0:
            faults.append(f"the last process ended with {ended}: {last.said()[-1500:]!r}")
        return faults, self._subject.differences(last.report() if ended == 0 else None)

    def _going(self) -> Living:
        """Return the running process, or start one."""
        if self._living is None or not self._living.runs:
            self._living = self._start()
        return self._living

    def _start(self, *, slow: bool = True) -> Living:
        place = self._directory / f"process-{len(self._all):02d}"
        started = Living(self._subject.command(slow=slow), self._subject.output, place)
        self._all.append(started)
        return started

    def _reach(self, living: Living, kill: Kill) -> bool:
        if not living.until(lambda: living.reached(kill.phase, kill.after)):
            return False
        living.until(lambda: False, kill.delay)
        return living.runs

    def _take(self, living: Living, struck: Struck) -> None:
        """Continue with the process that survives a kill, if any."""
        self._living = struck.living
        if struck.living is None and not struck.leftovers:
            living.end()

    def _failed(self, living: Living, ended: int | None) -> list[str]:
        """Yield faults in how an undisturbed process ended."""
        if ended is None:
            living.end()
            return [f"it hung for {LONGEST_WAIT:g} s: {living.said()[-500:]!r}"]
        # Spark may end a run whose Python processes were killed; the run must report this clearly.
        return not_one_line(living) if ended and self._subject.guarded else []

    def _end_all(self) -> None:
        for each in self._all:
            each.end()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM end this process as Ctrl-C does, so that its child processes end too."""

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
