"""Check the load of the machine, so that speed is only measured while no other program computes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Guard", "LoadedError", "Reading", "read_load"]

MOST_LOAD = 0.5
"""Maximum load average of the last minute, per core, at the start."""
MOST_USE = 0.1
"""Maximum share of all cores that is in use."""
_STAT = Path("/proc/stat")


class Reading(NamedTuple):
    """The load of the machine while this tool itself measures nothing."""

    load: float
    """Load average of the last minute, per core."""
    use: float | None
    """Share of all cores in use, other virtual machines included; None without ``/proc/stat``."""


class LoadedError(RuntimeError):
    """Raised instead of measuring, because the machine is loaded."""


def read_load(seconds: float = 1.0) -> Reading:
    """Measure the load of the machine over some seconds."""
    before = _ticks()
    time.sleep(seconds)
    after, load = _ticks(), os.getloadavg()[0] / (os.cpu_count() or 1)
    if before is None or after is None:
        return Reading(load, None)
    total, idle = (late - early for early, late in zip(before, after, strict=True))
    return Reading(load, 1 - idle / total if total else 0.0)


def _ticks() -> tuple[int, int] | None:
    """Return the ticks of all cores since the system started: all of them, and the idle ones."""
    if not _STAT.exists():
        return None
    # user, nice, system, idle, iowait, irq, softirq, steal; user includes guests.
    fields = [int(each) for each in _STAT.read_text("utf-8").split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4]


class Guard:
    """Waits until the machine is idle, and raises an error if it stays loaded.

    Parameters
    ----------
    patience
        Maximum seconds to wait.
    loaded
        Whether to continue on a loaded machine, without waiting.
    read
        Function that returns a reading.
    """

    def __init__(
        self,
        patience: float = 60.0,
        *,
        loaded: bool = False,
        read: Callable[[], Reading] = read_load,
    ) -> None:
        self._patience, self._loaded, self._read = patience, loaded, read

    def check(self, *, start: bool = False) -> Reading:
        """Wait until the machine is idle, and return the last reading.

        The load average is only checked at the start: later it includes the measured programs.

        Raises
        ------
        LoadedError
            Other programs compute, and have not stopped in time.
        """
        end = time.monotonic() + self._patience
        while True:
            reading = self._read()
            use = reading.use or 0.0
            busy = use > MOST_USE or (start and reading.load > MOST_LOAD)
            if self._loaded or not busy:
                return reading
            if time.monotonic() >= end:
                message = (
                    f"the machine is loaded: {use:.0%} of its cores are in use (at most "
                    f"{MOST_USE:.0%}), load average {reading.load:.2f} per core (at the start at "
                    f"most {MOST_LOAD}). Stop other programs, wait longer with --patience, or "
                    "measure all the same with --loaded"
                )
                raise LoadedError(message)
