"""Claims: which process an output belongs to, and what keeps a late one from touching it.

A claim is a numbered object, made by one exclusive create. The newest claim holds the output.
Whoever publishes asks first whether its claim is still the newest; what must hold even between
that question and the act is an exclusive create itself (`commits`). No lock is
used: one that a file system grants twice, or not at all, changes nothing here. Nor is any clock
but the waiting process's own: a sign of life is an object whose content changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import threading
import time
import uuid
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import OUTPUT_REMEDY, SharedMark

if TYPE_CHECKING:
    from typing import Self

    from evenkey.core.stores import Store

CLAIMS = "state/claims"
"""Where the claims of an output lie in it."""

_BEAT_SECONDS = 1.0
_PATIENCE_SECONDS = 15.0
_POLL_SECONDS = 0.1
_LOOKS = 10
"""How often a holder is looked at, at least, before it is taken for gone: a slow store shows its
signs of life late."""
_FIELDS_TO_STATE, _STATE_TO_START = 0, 19
"""Places in /proc/PID/stat behind the name: the state, and the time of the start."""


@dataclass(frozen=True)
class Holder:
    """A process that holds, or held, an output.

    Parameters
    ----------
    host
        Name of its machine.
    place
        What its process numbers count for: the machine's boot and the namespace of processes;
        None where the system has no names for them.
    pid
        Its number there.
    started
        When it started, in the system's own ticks; None where that cannot be known.
    at
        When it made its claim, in seconds since 1970.
    token
        What no other claim has: by it a process knows its own, whatever a store answered when it
        was made.
    """

    host: str
    place: str | None
    pid: int
    started: int | None
    at: float
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def here(cls) -> Self:
        """Describe this process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _place(), pid, _started(pid), time.time())

    def ended(self) -> bool:
        """Whether it is sure that the process is no more; of another machine's it never is."""
        if self.place is None or self.place != _place():
            return False
        return _started(self.pid) != self.started

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.at, UTC)
        return f"process {self.pid} on {self.host} since {since:%Y-%m-%d %H:%M:%S} UTC"


class Claim:
    """The claim of this process on an output, from when it is made until it is released.

    A thread shows about once a second that the process lives.

    Parameters
    ----------
    output
        The store that is claimed.
    patience
        Seconds after which a holder that shows no sign of life loses its claim to whoever waits;
        longer where the store is slow, so that it is looked at several times in any case.

    Raises
    ------
    ConfigurationError
        Another process holds the output and lives, or it cannot be written.
    RunError
        A claim cannot be read.
    """

    def __init__(self, output: Store, *, patience: float = _PATIENCE_SECONDS) -> None:
        self._output = output
        self._content = json.dumps(asdict(Holder.here())).encode()
        try:
            self.number = self._take(patience)
            self._beat(0)
        except OSError as error:
            why = error.strerror or error
            message = f"output {output} cannot be written ({why}): choose another directory"
            raise ConfigurationError(message) from error
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._live, name="evenkey-claim", daemon=True)
        self._thread.start()

    @property
    def mark(self) -> SharedMark:
        """What tasks must find where they write, to be sure that it is this output."""
        name = _sign(self.number, "json")
        return SharedMark(self._output, name, platform.node(), OUTPUT_REMEDY, self._content)

    @property
    def held(self) -> bool:
        """Whether no other process has claimed the output since."""
        return self._newest() == self.number

    def check(self) -> None:
        """Make sure that no other process has claimed the output since.

        Raises
        ------
        RunError
            One has, and the message names it; or the claims cannot be read.
        """
        try:
            newest = self._newest()
        except OSError as error:
            raise self._unreadable(CLAIMS, error) from error
        if newest > self.number:
            message = (
                f"output {self._output} now belongs to {self._holder(newest)}, because this "
                "process gave no sign of life: what it had not committed is dropped; the other "
                "goes on from there, so there is nothing to do"
            )
            raise RunError(message)
        if newest < self.number:
            message = f"output {self._output} is gone: somebody deleted it while the run went on"
            raise RunError(message)

    def release(self) -> None:
        """Let the output go, so that the next process need not wait."""
        self._released.set()
        self._thread.join()
        # Where the store is away, the next process waits instead.
        with contextlib.suppress(OSError):
            if self._is_there():
                self._output.put(_sign(self.number, "released"), b"")

    def _take(self, patience: float) -> int:
        while True:
            newest = self._newest()
            if newest:
                self._wait_for_end(newest, patience)
            file = _sign(newest + 1, "json")
            made = self._output.create(file, self._content, durable=True)
            # A store may have done it though its answer was lost, and refuse when asked again.
            made = made or self._output.find(file) == self._content
            # A number long gone by could be made anew, which would be the newest of none.
            if made and self._newest() == newest + 1:
                self._forget_before(newest)
                return newest + 1

    def _wait_for_end(self, number: int, patience: float) -> None:
        """Return once the holder of a claim has ended or hangs; refuse if it lives."""
        holder = self._holder(number)
        began = time.monotonic()
        first, looks = self._last_beat(number), 0
        while time.monotonic() < began + patience or looks < _LOOKS:
            looked = time.monotonic()
            if self._output.find(_sign(number, "released")) is not None or holder.ended():
                return
            if self._last_beat(number) != first:
                message = (
                    f"output {self._output} is in use by {holder}: wait until it has ended, end "
                    "it, or choose another output"
                )
                raise ConfigurationError(message)
            looks += 1
            # A store that answers at once is not asked more often than this.
            time.sleep(max(0.0, _POLL_SECONDS - (time.monotonic() - looked)))

    def _live(self) -> None:
        number = 1
        while not self._released.wait(_BEAT_SECONDS):
            # A store may be away for a while; a claim that is lost stays so.
            with contextlib.suppress(OSError):
                if self._is_there():
                    self._beat(number)
                    number += 1

    def _beat(self, number: int) -> None:
        """Show that this process lives, by other content than before."""
        self._output.put(_sign(self.number, "beat"), f"{number}".encode())

    def _is_there(self) -> bool:
        """Whether this claim is: an output that was deleted is not to appear again."""
        return self._output.find(_sign(self.number, "json")) == self._content

    def _last_beat(self, number: int) -> bytes | None:
        return self._output.find(_sign(number, "beat"))

    def _holder(self, number: int) -> Holder:
        file = _sign(number, "json")
        try:
            return Holder(**json.loads(self._output.read(file)))
        except (OSError, ValueError, TypeError) as error:
            raise self._unreadable(file, error) from error

    def _unreadable(self, name: str, error: Exception) -> RunError:
        return RunError(
            f"{self._output.path(name)} cannot be read ({error}): choose another output"
        )

    def _newest(self) -> int:
        claims = (name for name in self._output.names(CLAIMS) if name.endswith(".json"))
        return max(map(_number, claims), default=0)

    def _forget_before(self, number: int) -> None:
        """Delete the signs of claims long gone; the newest claims stay, which numbers go by."""
        for name in self._output.names(CLAIMS):
            if _number(name) < number:
                self._output.delete(name)


def _sign(number: int, name: str) -> str:
    return f"{CLAIMS}/{number:08d}.{name}"


def _number(name: str) -> int:
    return int(name.rpartition("/")[2].partition(".")[0])


def _place() -> str | None:
    """Name what process numbers of this machine count for."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def _started(pid: int) -> int | None:
    """When a process started; None where there is none, or nobody has waited for its end yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, which may hold anything, ends with the last parenthesis.
    fields = stat.rpartition(")")[2].split()
    return None if fields[_FIELDS_TO_STATE] in "ZX" else int(fields[_STATE_TO_START])
