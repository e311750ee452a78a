"""The kinds of kills, and the expected outcome of each."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tests.kills.living import LONGEST_WAIT, Living
from tests.processes import end_session, freeze, java_of, members, python_workers, send, thaw

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kills.schedule import Kill
    from tests.kills.subjects import Subject

__all__ = ["STRIKES", "Struck", "Target", "not_one_line"]

_FAILED, _REFUSED = 1, 2
_STOPPED = 128
"""Exit code after a signal, less the number of the signal."""
_OUTLIVING_SECONDS = 240.0
_REFUSING_SECONDS = 240.0


class Target(NamedTuple):
    """The target of a kill.

    Parameters
    ----------
    living
        The running process.
    kill
        The kill.
    subject
        The subject of the run.
    start
        Function that starts another process of the same run.
    """

    living: Living
    kill: Kill
    subject: Subject
    start: Callable[[], Living]


@dataclass
class Struck:
    """The outcome of a kill.

    Parameters
    ----------
    living
        The process that continues the run; None: it must be restarted.
    how
        Variety of the kill, and observations.
    ended
        Exit code of the process that was struck or rejected; None: it lives on.
    faults
        Unexpected behaviour.
    hit
        Whether a live run was struck.
    leftovers
        Whether remaining processes of the struck run stay beside its successor.
    """

    living: Living | None
    how: str
    ended: int | None = None
    faults: list[str] = field(default_factory=list)
    hit: bool = True
    leftovers: bool = False


def _driver(target: Target) -> Struck:
    """Kill only the driver's Python process; its JVM must notice."""
    living = target.living
    os.kill(living.pid, signal.SIGKILL)
    ended = living.wait()
    if target.kill.choice < 0.5:
        # Its remaining processes live on beside its successor, as after an early restart.
        return Struck(None, "driver alone, restarted immediately", ended, leftovers=True)
    faults = []
    if not living.wait_until_gone(_OUTLIVING_SECONDS):
        left = [" ".join(each.words)[:100] for each in members(living.pid)]
        faults.append(f"{_OUTLIVING_SECONDS:g} s after its driver, there are still {left}")
    return Struck(None, "driver alone", ended, faults)


def _machine(target: Target) -> Struck:
    """Kill all processes of the run together, as a power failure does."""
    number = end_session(target.living.pid)
    return Struck(None, f"{number} processes", target.living.wait())


def _jvm(target: Target) -> Struck:
    """Kill Spark's JVM; the driver must report it and end."""
    living = target.living
    send(java_of(living.pid), signal.SIGKILL)
    ended = living.wait()
    faults = []
    if ended is None:
        faults.append(f"{LONGEST_WAIT:g} s after its JVM, the driver is still there")
    elif target.subject.guarded:
        if ended != _FAILED:
            faults.append(f"exit code {ended} after its JVM died, not {_FAILED}")
        faults += not_one_line(living)
    return Struck(None, "JVM", ended, faults)


def _workers(target: Target) -> Struck:
    """Kill the Python workers, or an executor if there is one; Spark replaces them, or fails."""
    living = target.living
    executors = java_of(living.pid, "CoarseGrainedExecutorBackend")
    if executors and target.kill.choice < 0.4:
        send(executors[:1], signal.SIGKILL)
        return Struck(living, "an executor")
    living.until(lambda: python_workers(living.pid))
    killed = python_workers(living.pid)
    send(killed, signal.SIGKILL)
    return Struck(living, f"{len(killed)} Python workers", hit=bool(killed))


def _stopped_by(number: signal.Signals) -> Callable[[Target], Struck]:
    def strike(target: Target) -> Struck:
        """Ask a run to stop: its driver, or all of its processes, as service managers do."""
        living, everyone = target.living, target.kill.choice < 0.3
        send([each.pid for each in members(living.pid)] if everyone else [living.pid], number)
        ended = living.wait()
        faults = []
        if ended is None:
            faults.append(f"{LONGEST_WAIT:g} s after {number.name}, it still runs")
        elif target.subject.guarded and not everyone and ended:
            if ended != _STOPPED + number:
                faults.append(f"exit code {ended} after {number.name}, not {_STOPPED + number}")
            faults += _traces(living)
        whom = "all" if everyone else "the driver"
        return Struck(None, f"{number.name} to {whom}", ended, faults)

    return strike


def _second(target: Target) -> Struck:
    """Start a second process while the first is alive; it must be rejected."""
    living, second = target.living, target.start()
    ended = second.wait(_REFUSING_SECONDS)
    if not living.runs:
        return Struck(second, "a second process, when the first had ended", ended, hit=False)
    faults = []
    if ended != _REFUSED:
        state = "still runs" if ended is None else f"ended with {ended}"
        faults.append(f"a second process beside the first {state}: it was not refused")
    else:
        faults += not_one_line(second)
    second.end()
    return Struck(living, "a second process", ended, faults)


def _freeze(target: Target) -> Struck:
    """Stop a process, run the command again, and wake the first process up.

    The second process may be rejected, and then the first continues as if nothing had happened;
    or it takes over, and then the work of the first after it woke up must not count.
    """
    living = target.living
    freeze(living.pid)
    second = target.start()
    if not second.until(second.at_work):
        ended = second.wait(0)
        second.end()
        thaw(living.pid)
        faults = [] if ended == _REFUSED else [f"beside a stopped process, a second gave {ended}"]
        return Struck(living, "stopped, a second one refused, and woken up", ended, faults)
    if target.kill.choice < 0.5:
        second.wait()
        how = "stopped, finished by a second one, and woken up"
    else:
        before = second.epochs_ended()
        second.until(lambda: second.epochs_ended() > before)
        how = "stopped, woken up beside the second one that took over"
    thaw(living.pid)
    ended = living.wait()
    if ended is None:
        faults = [f"{LONGEST_WAIT:g} s after it woke up, it still runs"]
    else:
        # Only a process that had committed all its epochs may end successfully.
        faults = not_one_line(living) if ended else []
    living.end()
    return Struck(second, how, ended, faults)


def not_one_line(living: Living) -> list[str]:
    """Yield faults in how a process reported that it could not continue."""
    lines = [line for line in living.said().splitlines() if line.startswith("error:")]
    if len(lines) == 1:
        return _traces(living)
    return [f"{len(lines)} lines of error, not one: {living.said()[-500:]!r}"]


def _traces(living: Living) -> list[str]:
    said = living.said()
    traced = "Traceback (most recent call last)" in said
    return [f"a trace on standard error: {said[-500:]!r}"] if traced else []


STRIKES: dict[str, Callable[[Target], Struck]] = {
    "driver": _driver,
    "machine": _machine,
    "jvm": _jvm,
    "workers": _workers,
    "terminate": _stopped_by(signal.SIGTERM),
    "interrupt": _stopped_by(signal.SIGINT),
    "second": _second,
    "freeze": _freeze,
}
