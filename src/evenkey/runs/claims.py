"""Claims: which process an output belongs to, and what keeps a late one from touching it.

A claim is a numbered file, made by one exclusive create. The newest claim holds the output.
Whoever publishes asks first whether its claim is still the newest; what must hold even between
that question and the act is an exclusive create itself (`evenkey.runs.commits`). No lock is
used: one that a file system grants twice, or not at all, changes nothing here.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.errors import ConfigurationError, RunError
from evenkey.files import create_whole

if TYPE_CHECKING:
    from typing import Self

_BEAT_SECONDS = 1.0
_PATIENCE_SECONDS = 15.0
_POLL_SECONDS = 0.1
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
    """

    host: str
    place: str | None
    pid: int
    started: int | None
    at: float

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
        The directory that is claimed, for messages.
    directory
        Where claims lie; made if it is not there.
    patience
        Seconds after which a holder that shows no sign of life loses its claim to whoever waits.

    Raises
    ------
    ConfigurationError
        Another process holds the output and lives.
    RunError
        A claim cannot be written or read.
    """

    def __init__(
        self, output: Path, directory: Path, *, patience: float = _PATIENCE_SECONDS
    ) -> None:
        self._output = output
        self._directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self.number = self._take(patience)
            self.sign("beat").touch()
        except OSError as error:
            message = f"{directory} cannot be written ({error}): free or choose a directory"
            raise RunError(message) from error
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="evenkey-claim", daemon=True)
        self._thread.start()

    def sign(self, name: str) -> Path:
        """Where a sign of this claim lies, which no later claim takes for its own."""
        return self._sign(self.number, name)

    @property
    def held(self) -> bool:
        """Whether no other process has claimed the output since."""
        return self._newest() == self.number

    def check(self) -> None:
        """Make sure that no other process has claimed the output since.

        Raises
        ------
        RunError
            One has; the message names it.
        """
        newest = self._newest()
        if newest != self.number:
            message = (
                f"output {self._output} now belongs to {self._holder(newest)}, because this "
                "process gave no sign of life: what it had not committed is dropped; the other "
                "goes on from there, so there is nothing to do"
            )
            raise RunError(message)

    def release(self) -> None:
        """Let the output go, so that the next process need not wait."""
        self._released.set()
        self._thread.join()
        if self._directory.is_dir():
            self.sign("released").touch()

    def _take(self, patience: float) -> int:
        content = json.dumps(asdict(Holder.here())).encode()
        while True:
            newest = self._newest()
            if newest:
                self._wait_for_end(newest, patience)
            made = create_whole(self._file(newest + 1), content, durable=True)
            # A number long gone by could be made anew, which would be the newest of none.
            if made and self._newest() == newest + 1:
                self._forget_before(newest)
                return newest + 1

    def _wait_for_end(self, number: int, patience: float) -> None:
        """Return once the holder of a claim has ended or hangs; refuse if it lives."""
        holder = self._holder(number)
        deadline = time.monotonic() + patience
        first = self._last_beat(number)
        while time.monotonic() < deadline:
            if self._sign(number, "released").exists() or holder.ended():
                return
            if self._last_beat(number) != first:
                message = (
                    f"output {self._output} is in use by {holder}: wait until it has ended, end "
                    "it, or choose another output"
                )
                raise ConfigurationError(message)
            time.sleep(_POLL_SECONDS)

    def _beat(self) -> None:
        beat = self.sign("beat")
        while not self._released.wait(_BEAT_SECONDS):
            try:
                os.utime(beat)
            except OSError:  # a disk may be away for a while; a claim that is lost stays so
                continue

    def _last_beat(self, number: int) -> int | None:
        try:
            return self._sign(number, "beat").stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def _holder(self, number: int) -> Holder:
        file = self._file(number)
        try:
            return Holder(**json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            message = f"{file} cannot be read ({error}): choose another output"
            raise RunError(message) from error

    def _newest(self) -> int:
        return max((int(each.stem) for each in self._directory.glob("*.json")), default=0)

    def _forget_before(self, number: int) -> None:
        """Delete the signs of claims long gone; the newest claims stay, which numbers go by."""
        for file in self._directory.glob("[0-9]*"):
            if int(file.name.split(".")[0]) < number:
                file.unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self._sign(number, "json")

    def _sign(self, number: int, name: str) -> Path:
        return self._directory / f"{number:08d}.{name}"


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
