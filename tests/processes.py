"""Find and end the processes of a run: all processes of its session."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Member",
    "end_session",
    "freeze",
    "java_of",
    "members",
    "python_workers",
    "send",
    "thaw",
]

_STATES_OF_THE_DEAD = "ZX"
_STATES_OF_THE_STOPPED = "Tt"


class Member(NamedTuple):
    """A living process of a session."""

    pid: int
    parent: int
    state: str
    words: tuple[str, ...]


def members(session: int) -> list[Member]:
    """Return the living processes of a session.

    Spark's Python daemons have their own process groups, but stay in the session of the run that
    started them.
    """
    listed = subprocess.run(
        ["ps", "-ww", "-A", "-o", "pid=,ppid=,stat=,command="],  # noqa: S607 - the system's own
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    )
    found = []
    for line in listed.stdout.splitlines():
        pid, parent, state, *words = line.split()
        if _session_of(int(pid)) == session and state[0] not in _STATES_OF_THE_DEAD:
            found.append(Member(int(pid), int(parent), state[0], tuple(words)))
    return found


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def python_workers(session: int) -> list[int]:
    """Return Spark's Python workers of a run, without the daemons, which are their parents."""
    daemons = {
        each.pid: each.parent
        for each in members(session)
        if any(word.endswith(".daemon") for word in each.words)
    }
    return [pid for pid, parent in daemons.items() if parent in daemons]


def java_of(session: int, what: str = "SparkSubmit") -> list[int]:
    """Return the JVMs of a run: the driver's, or the executors' (CoarseGrainedExecutorBackend)."""
    return [
        each.pid
        for each in members(session)
        if "java" in "".join(each.words[:1]) and any(word.endswith(what) for word in each.words)
    ]


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to processes; ignore those that have ended already."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def freeze(session: int) -> None:
    """Freeze all processes of a run, including those that it starts meanwhile."""
    while moving := [
        each.pid for each in members(session) if each.state not in _STATES_OF_THE_STOPPED
    ]:
        send(moving, signal.SIGSTOP)
        time.sleep(0.01)


def thaw(session: int) -> None:
    """Wake up the processes of a frozen run."""
    send([each.pid for each in members(session)], signal.SIGCONT)


def end_session(session: int) -> int:
    """Kill all processes of a run, and return their number."""
    ended: set[int] = set()
    while living := [each.pid for each in members(session)]:
        send(living, signal.SIGKILL)
        ended.update(living)
        time.sleep(0.01)
    return len(ended)
