"""Claims: which process an output belongs to, and protection against a process that has lost it.

A claim is a numbered object, made by one exclusive create. The output belongs to the process with
the newest claim. Before a process publishes, it checks that its claim is still the newest claim.
Publishing is itself an exclusive create (`commits`), so this is safe even if the claim is lost
between the check and the create. There are no locks, because some file systems grant a lock twice
or not at all. Clocks of two hosts are never compared: a waiting process measures, by its own clock,
how long the content of the heartbeat object has not changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
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
"""The folder, inside an output, that contains the claims."""
_SIGN = re.compile(rf"{CLAIMS}/(\d{{8,18}})\.(json|beat|released)", re.ASCII)

_BEAT_SECONDS = 1.0
_PATIENCE_SECONDS = 15.0
_POLL_SECONDS = 0.1
_LOOKS = 10
"""Minimum number of checks before a holder counts as dead: a slow store shows heartbeats late."""
_FIELDS_TO_STATE, _STATE_TO_START = 0, 19
"""Fields of /proc/PID/stat after the name: the state, and the start time."""


@dataclass(frozen=True)
class Holder:
    """A process that holds, or held, an output.

    Parameters
    ----------
    host
        Name of the process's machine.
    place
        The scope in which the process number is unique: the machine's boot and the PID namespace.
        None if the operating system does not name them.
    pid
        Number of the process.
    started
        When the process started, in the system's ticks; None if unknown.
    at
        When the process made its claim, in seconds since 1970.
    token
        A unique text, by which a process recognises its own claim if the store's answer was lost.
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
        """Return whether the process has certainly ended; False for processes of other machines."""
        if self.place is None or self.place != _place():
            return False
        return _started(self.pid) != self.started

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.at, UTC)
        return f"process {self.pid} on {self.host} since {since:%Y-%m-%d %H:%M:%S} UTC"


class Claim:
    """The claim of this process on an output, until it is released.

    A thread writes a heartbeat about once per second.

    Parameters
    ----------
    output
        The claimed store.
    patience
        Seconds without a heartbeat after which a holder loses its claim to a waiting process. On a
        slow store the wait is longer, because the heartbeat is always checked several times.

    Raises
    ------
    ConfigurationError
        Another live process holds the output, or the output cannot be written.
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
        """An object that tasks must find before they write, as proof that they see this output."""
        name = _sign(self.number, "json")
        return SharedMark(self._output, name, platform.node(), OUTPUT_REMEDY, self._content)

    @property
    def held(self) -> bool:
        """Whether no other process has claimed the output since this process did."""
        return self._newest() == self.number

    def check(self) -> None:
        """Check that no other process has claimed the output since this process did.

        Raises
        ------
        RunError
            Another process, which the message names, has claimed the output; the output was
            deleted; or the claims cannot be read.
        """
        try:
            newest = self._newest()
        except OSError as error:
            raise self._unreadable(CLAIMS, error) from error
        if newest > self.number:
            message = (
                f"output {self._output} now belongs to {self._holder(newest)}, because this "
                "process sent no heartbeat: the uncommitted work of this process is dropped; the "
                "other process continues the run, so there is nothing to do"
            )
            raise RunError(message)
        if newest < self.number:
            message = f"output {self._output} is gone: it was deleted during the run"
            raise RunError(message)

    def release(self) -> None:
        """Release the output, so that the next process need not wait."""
        self._released.set()
        self._thread.join()
        # If the store is unreachable, the next process waits instead.
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
            # The store may have created the claim, but lost its answer and then rejected a retry.
            made = made or self._output.find(file) == self._content
            # If this process was slow, its number may be that of an old claim that was deleted.
            # Then other processes have newer claims, and this claim is not valid.
            if made and self._newest() == newest + 1:
                self._forget_before(newest)
                return newest + 1

    def _wait_for_end(self, number: int, patience: float) -> None:
        """Return once a claim's holder has ended or is silent; raise if it sends a heartbeat."""
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
            # Limit how often a fast store is checked.
            time.sleep(max(0.0, _POLL_SECONDS - (time.monotonic() - looked)))

    def _live(self) -> None:
        number = 1
        while not self._released.wait(_BEAT_SECONDS):
            # Skip the heartbeat if the store is unreachable; a claim that is lost stays lost.
            with contextlib.suppress(OSError):
                if self._is_there():
                    self._beat(number)
                    number += 1

    def _beat(self, number: int) -> None:
        """Write a heartbeat, with new content."""
        self._output.put(_sign(self.number, "beat"), f"{number}".encode())

    def _is_there(self) -> bool:
        """Return whether this claim exists; a heartbeat must not create a deleted output again."""
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
        return max((_number(name) or 0 for name in claims), default=0)

    def _forget_before(self, number: int) -> None:
        """Delete the objects of claims below `number`; the next claim needs the highest number."""
        for name in self._output.names(CLAIMS):
            of = _number(name)
            if of is not None and of < number:
                self._output.delete(name)


def _sign(number: int, name: str) -> str:
    return f"{CLAIMS}/{number:08d}.{name}"


def _number(name: str) -> int | None:
    """Return the number of a claim's object; None for a file that somebody else has put there."""
    found = _SIGN.fullmatch(name)
    return int(found[1]) if found else None


def _place() -> str | None:
    """Return the scope of process numbers on this machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def _started(pid: int) -> int | None:
    """Return when a process started; None if the process does not exist or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, which may contain anything, ends at the last parenthesis.
    fields = stat.rpartition(")")[2].split()
    return None if fields[_FIELDS_TO_STATE] in "ZX" else int(fields[_STATE_TO_START])
