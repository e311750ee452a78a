"""The sides of a comparison: a version of the package (commit or working tree), and a case."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.compare.case import Case

__all__ = ["Side", "Source", "run_cases", "source_of"]

WORKING_TREE = "."


@dataclass(frozen=True)
class Source:
    """A version of the package.

    Parameters
    ----------
    directory
        Directory for `PYTHONPATH`.
    commit
        Full id of the commit; for the working tree, of ``HEAD``.
    dirty
        Whether the version has changes that are not committed.
    """

    directory: Path
    commit: str
    dirty: bool


@dataclass(frozen=True)
class Side:
    """A case, run with a version of the package."""

    source: Source
    case: Case


def source_of(root: Path, commit: str = WORKING_TREE) -> Source:
    """Return the package of a commit, after unpacking it into ``build/commits``.

    Parameters
    ----------
    root
        Root directory of the repository.
    commit
        Any name of a commit that git knows; `WORKING_TREE` for the present files.

    Raises
    ------
    ValueError
        Git does not know this commit.
    """
    if commit == WORKING_TREE:
        changes = _git(root, "status", "--porcelain", "--", "src", "tools", "benchmarks")
        return Source(root / "src", _git(root, "rev-parse", "HEAD").decode().strip(), bool(changes))
    name = _git(root, "rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
    directory = root / "build" / "commits" / name
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as place:
            archive = io.BytesIO(_git(root, "archive", name, "src"))
            with tarfile.open(fileobj=archive) as opened:
                opened.extractall(place, filter="data")
            Path(place, "src").rename(directory)
    return Source(directory, name, dirty=False)


def run_cases(root: Path, sides: Sequence[Side], warm_ups: int) -> dict[str, Any]:
    """Run the cases of sides with the same version of the package, in one new process.

    Returns
    -------
    dict
        ``seconds``, one number per side, and ``versions``.

    Raises
    ------
    RuntimeError
        The process failed.
    """
    source = sides[0].source.directory
    with tempfile.TemporaryDirectory(prefix="compare-") as place:
        request, output = Path(place, "request.json"), Path(place, "output.json")
        cases = [asdict(side.case) for side in sides]
        asked = {"cases": cases, "warm_ups": warm_ups, "source": str(source)}
        request.write_text(json.dumps(asked), "utf-8")
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "tools.compare.case", str(request), str(output)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(root)])},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            message = f"{sides[0].case} failed:\n{done.stderr[-4000:]}"
            raise RuntimeError(message)
        found: dict[str, Any] = json.loads(output.read_text("utf-8"))
    return found


def _git(root: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)  # noqa: S603, S607
    if done.returncode:
        message = f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}"
        raise ValueError(message)
    return done.stdout
