"""Run tasks of `ordered_ways.py`, each in a process of its own, and keep their figures."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.logged_jobs import Logged, read_logged

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

__all__ = ["apart", "commit", "kept"]

HERE = Path(__file__).resolve().parent
PROGRAMS = ("logged_jobs", "ordered_ways", "ordered_work", "own_process", "processor_time")


def commit() -> str:
    """Return the commit of the working tree, and whether the tree has other changes."""
    words = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def code() -> str:
    """Return a digest of the package and of these programs."""
    files = [*(HERE.parent / "src").rglob("*.py"), *(HERE / f"{each}.py" for each in PROGRAMS)]
    return hashlib.sha256(b"".join(each.read_bytes() for each in sorted(files))).hexdigest()


def apart(task: dict[str, Any], directory: Path, limit: float) -> tuple[dict[str, Any], Logged]:
    """Run a task in a process of its own.

    Returns
    -------
    outcome, logged
        What the task found, and its event log. If it failed, or was stopped after `limit` seconds,
        the outcome has the reason as `failed`; the log then has the tasks that had ended.
    """
    with tempfile.TemporaryDirectory(dir=directory, ignore_cleanup_errors=True) as scratch:
        place = Path(scratch)
        logs, local, found = place / "logs", place / "local", place / "outcome.json"
        logs.mkdir()
        local.mkdir()
        own = {"spark.eventLog.dir": logs.as_uri(), "spark.local.dir": str(local)}
        given = task | {"settings": task["settings"] | own, "outcome": str(found)}
        program = [sys.executable, str(HERE / "ordered_ways.py"), json.dumps(given)]
        process = subprocess.Popen(program, stdout=sys.stderr, start_new_session=True)
        try:
            failed = f"the process ended with exit code {process.wait(limit)}"
        except subprocess.TimeoutExpired:
            failed = f"stopped after {limit:g} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # Java and executors too
                process.wait()
        outcome = json.loads(found.read_text()) if found.exists() else {"failed": failed}
        logged = read_logged(logs) if any(logs.iterdir()) else Logged((), ())
    return outcome, logged


def kept(
    given: argparse.Namespace,
    task: dict[str, Any],
    figures: Callable[[dict[str, Any], Logged], dict[str, Any]],
) -> dict[str, Any]:
    """Return the figures of a task; run it unless the same code has run it.

    Parameters
    ----------
    given
        The options `directory`, `limit` and `again`.
    task
        The task.
    figures
        Makes the figures of the outcome and the event log.
    """
    wanted = task | {"code": code(), "limit": given.limit}
    name = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:16]
    file: Path = given.directory / "outcomes" / f"{name}.json"
    if file.exists() and not given.again:
        found: dict[str, Any] = json.loads(file.read_text())["figures"]
        return found
    sys.stderr.write(f"running {task['work']}, {task.get('way', 'all ways')}: {task['folder']}\n")
    found = figures(*apart(task, given.directory, given.limit))
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"task": wanted, "figures": found}, indent=1))
    return found
