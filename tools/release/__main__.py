"""Build the archives of a release and try them: python -m tools.release DIRECTORY [PYTHON...].

Without PYTHON it uses one of each version from 3.11 on that this machine has. Each extra is tried
in an environment that contains the packages of this extra only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from tools.release.trials import CORE, TRIALS

ROOT = Path(__file__).parents[2]
BIN = Path(sys.prefix, "bin")
KEPT = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
_NEWEST_MINOR = 20


def main(directory: Path, pythons: list[str]) -> int:
    """Print a line for each Python and extra; return 1 if one failed."""
    wheel = build(directory)
    failed = 0
    with tempfile.TemporaryDirectory() as place:  # outside of the checkout
        _without_java(Path(place, "bin"))
        # PySpark is a source archive, so uv may build it for each extra and keep a gigabyte each
        # time: build one wheel.
        spark = ("wheel", "--quiet", "--no-deps", "--wheel-dir", Path(place, "wheels"), "pyspark")
        _run(BIN / "python", "-m", "pip", *spark)
        for python in pythons or _found():
            environment = Path(place, "environment")
            shutil.rmtree(environment, ignore_errors=True)
            _run(BIN / "uv", "venv", "--quiet", "--python", python, environment)
            for extra in ("", *_extras()):
                said = _try(environment, wheel, extra)
                failed += said is not None
                name = f"evenkey[{extra}]" if extra else "evenkey"
                print(f"{_version(python):<9}{name:<22}{said or 'works'}", flush=True)
    return int(failed > 0)


def build(directory: Path) -> Path:
    """Build both archives, check them, and return the path of the wheel."""
    shutil.rmtree(directory, ignore_errors=True)
    _run(BIN / "python", "-m", "build", "--outdir", directory, ROOT)
    archives = sorted(directory.iterdir())
    _run(BIN / "twine", "check", "--strict", *archives)
    (wheel,) = directory.glob("*.whl")
    _run(BIN / "check-wheel-contents", wheel)
    return wheel.resolve()


def _extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = sorted(project["optional-dependencies"].keys() - {"dev"})
    if missing := sorted({*extras} ^ (TRIALS.keys() - {""})):
        message = f"tools/release/trials.py: no extra or no trial for {', '.join(missing)}; add it"
        raise SystemExit(message)
    return extras


def _found() -> list[str]:
    """Find one Python of each version from 3.11 on."""
    homes = sorted(Path.home().glob(".pyenv/versions/*/bin"))
    path = os.pathsep.join([os.environ["PATH"], *map(str, homes)])
    candidates = [
        Path(folder, f"python3.{minor}")
        for minor in range(11, _NEWEST_MINOR)
        for folder in path.split(os.pathsep)
    ]
    found = {each.name: str(each) for each in reversed(candidates) if _starts(each)}
    return [found[name] for name in sorted(found)]


def _version(python: str) -> str:
    program = "import platform; print(platform.python_version())"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - a Python
    return done.stdout.strip()


def _starts(python: Path) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0  # noqa: S603 - a Python


def _try(environment: Path, wheel: Path, extra: str) -> str | None:
    """Install exactly the packages of one extra and try it; return the error, or None."""
    asked = f"evenkey[{extra}]" if extra else "evenkey"
    inside = environment / "bin" / "python"
    needed = environment.with_name("needed.txt")
    programs = environment.with_name("bin") if extra == "java" else os.environ["PATH"]
    settings = {**KEPT, "PATH": f"{inside.parent}{os.pathsep}{programs}"}
    codes = [CORE, TRIALS[extra], *([] if extra else [_snippet()])]
    uv = (BIN / "uv", "pip")
    try:
        line = f"{asked} @ {wheel.as_uri()}"
        wheels = ("--find-links", environment.with_name("wheels"))
        said = ("--quiet", "--python", inside, *wheels, "--output-file", needed)
        _run(*uv, "compile", *said, "-", input=line)
        _run(*uv, "sync", "--quiet", "--python", inside, *wheels, needed)
        for code in codes:
            _run(inside, "-c", code, cwd=environment, env=settings)
    except subprocess.CalledProcessError as error:
        return "FAILED\n" + "\n".join((error.stdout + error.stderr).splitlines()[-20:])
    return None


def _snippet() -> str:
    """Return the first program of the README."""
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if found is None:
        message = "README.md: it has no block of Python; show a first program"
        raise SystemExit(message)
    return found[1]


def _without_java(directory: Path) -> None:
    """Fill a directory with links to all programs of the machine except Java."""
    directory.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            link = directory / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)


def _run(*command: str | Path, **where: Any) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, **where)  # noqa: S603 - ours


if __name__ == "__main__":
    try:
        code = main(Path(sys.argv[1]), sys.argv[2:])
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd))}\n{error.stdout}{error.stderr}")
    sys.exit(code)
