"""Hosts made of Linux namespaces: each has its own network, disk and processes.

A host is a sleeping process in its own namespaces; programs are started there by entering them.
When that process is killed, all processes of the host are killed too, and its network and disk are
gone. So a host can be lost, and nothing of it outlives a test. The machine's own disk, with the
checkout of the package, is read-only on a host.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tests.components import skip_without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

__all__ = ["WORK", "Hosts"]

WORK = "/tmp/work"  # noqa: S108 - of the host's own disk
"""Working directory of a host's programs, on its own disk."""
_NETWORK = "10.93.0"
_PROGRAMS = ("ip", "nsenter", "setpriv", "unshare", "mount")
_OWN_DISKS = ("/tmp", "/var/tmp", "/srv", "/run", "/dev/shm")  # noqa: S108 - hidden on a host
_SWITCH = "switch"
_BRIDGE = "evenkey"


class Hosts:
    """Some hosts and the network switch between them, until the block ends.

    Parameters
    ----------
    directory
        Directory for the files that set the hosts up, and for the output of their programs.
    names
        Names of the hosts, by which they reach each other.
    hidden
        Directories of the machine that some hosts do not see.
    """

    def __init__(
        self, directory: Path, names: Sequence[str], hidden: Mapping[str, Path] | None = None
    ) -> None:
        self.directory = directory
        self.names = list(names)
        self._hidden = {} if hidden is None else hidden
        self._anchors: dict[str, subprocess.Popen[bytes]] = {}
        self._inner: dict[str, int] = {}

    def __enter__(self) -> Self:
        _skip_where_hosts_cannot_be()
        lines = [f"{_NETWORK}.{n} {name}" for n, name in enumerate(self.names, 11)]
        (self.directory / "hosts").write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            self._anchor(_SWITCH, "")
            self._ip(_SWITCH, "link", "add", _BRIDGE, "type", "bridge")
            self._ip(_SWITCH, "link", "set", "dev", _BRIDGE, "up")
            for name in self.names:
                self.start_host(name)
            undo.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        for name in list(self._anchors):
            self.lose(name)

    def start_host(self, name: str) -> None:
        """Start a host with an empty disk; it may replace a lost host of the same name."""
        mounts = [f"mount --bind {self.directory}/hosts /etc/hosts"]
        mounts += [f"mount -t tmpfs -o mode=1777 tmpfs {disk}" for disk in _OWN_DISKS]
        cache = Path.home() / ".cache"
        cache.mkdir(exist_ok=True)
        mounts += [f"mount -t tmpfs tmpfs {cache}", f"mkdir -p {WORK}", f"hostname {name}"]
        if name in self._hidden:
            mounts += [f"mount -t tmpfs tmpfs {self._hidden[name]}"]
        self._anchor(name, " && ".join(["mount -o remount,bind,ro /", *mounts]))
        address = f"{_NETWORK}.{self.names.index(name) + 11}/24"
        switch = str(self._inner[_SWITCH])
        # Remove the device of a lost host, because the kernel removes it only after a while.
        self._ip(_SWITCH, "link", "delete", "dev", name, may_fail=True)
        self._ip(
            name, "link", "add", "inside", "type", "veth", "peer", "name", name, "netns", switch
        )
        self._ip(_SWITCH, "link", "set", "dev", name, "master", _BRIDGE, "up")
        self._ip(name, "addr", "add", address, "dev", "inside")
        for link in ("lo", "inside"):
            self._ip(name, "link", "set", "dev", link, "up")

    def _anchor(self, name: str, prepare: str) -> None:
        kinds = ["--net", "--mount", "--uts", "--ipc", "--pid", "--mount-proc", "--kill-child"]
        steps = f"{prepare} && " if prepare else ""
        script = f"{steps}echo up && exec sleep infinity"
        ready = self.directory / f"{name}.ready"
        # Opened here, because a host cannot make a disk read-only while it writes to a file there.
        with (self.directory / f"{name}.log").open("ab") as log, ready.open("wb") as output:
            # The host ends with the thread that starts it, and so with the test run.
            outer = ["setpriv", "--pdeathsig", "KILL", "unshare", "--propagation", "private"]
            anchor = subprocess.Popen(
                [*outer, *kinds, "bash", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
            )
        self._anchors[name] = anchor
        deadline = time.monotonic() + 240
        while not ready.read_text():
            alive = anchor.poll() is None and time.monotonic() < deadline
            assert alive, (self.directory / f"{name}.log").read_text()
            time.sleep(0.02)
        children = Path(f"/proc/{anchor.pid}/task/{anchor.pid}/children").read_text().split()
        self._inner[name] = int(children[0])

    def _ip(self, name: str, *words: str, may_fail: bool = False) -> None:
        done = subprocess.run(
            ["nsenter", "-t", str(self._inner[name]), "-n", "ip", *words],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
        assert may_fail or done.returncode == 0, (words, done.stderr)

    def lose(self, name: str) -> None:
        """Lose a host immediately: its processes, its network and its disk."""
        anchor = self._anchors.pop(name)
        inner = self._inner.pop(name, None)
        if inner is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGKILL)
        anchor.kill()
        anchor.wait()

    def cut(self, name: str) -> None:
        """Disconnect a host from the network; its processes continue."""
        self._ip(_SWITCH, "link", "set", "dev", name, "down")

    def reconnect(self, name: str) -> None:
        """Connect the host to the network again."""
        self._ip(_SWITCH, "link", "set", "dev", name, "up")

    def command(self, name: str, words: Sequence[str]) -> list[str]:
        """Return a command that runs the given command on a host."""
        where = ["-n", "-m", "-u", "-i", "-p", f"--wdns={WORK}"]
        return ["nsenter", "-t", str(self._inner[name]), *where, "--", *words]

    def start(
        self, name: str, words: Sequence[str], settings: Mapping[str, str], output: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a program on a host; it ends with the host at the latest."""
        return subprocess.Popen(
            self.command(name, words),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **settings},
        )

    def run(
        self, name: str, words: Sequence[str], settings: Mapping[str, str], seconds: int
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on a host to its end, or kill it after some time."""
        limited = ["timeout", "--signal=KILL", str(seconds), *words]
        return subprocess.run(
            self.command(name, limited),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **settings},
        )

    def wait_for(self, name: str, port: int, seconds: float = 240) -> None:
        """Wait until a port of a host is open."""
        probe = ["bash", "-c", f": </dev/tcp/{name}/{port}"]
        deadline = time.monotonic() + seconds
        while self.run(name, probe, {}, 5).returncode:
            assert time.monotonic() < deadline, f"nothing listens at {name}:{port}"
            time.sleep(0.2)


def _skip_where_hosts_cannot_be() -> None:
    missing = [each for each in _PROGRAMS if shutil.which(each) is None]
    if missing:
        skip_without("cluster", f"hosts need {', '.join(missing)}")
    if os.geteuid() != 0:
        skip_without("cluster", "hosts are namespaces, which root alone makes here")
    if Path(__file__).resolve().is_relative_to("/tmp"):  # noqa: S108 - hidden on a host
        skip_without("cluster", "the checkout lies in /tmp, which hosts have to themselves")
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "true"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        skip_without("cluster", f"namespaces are not to be had here: {tried.stderr.strip()}")
