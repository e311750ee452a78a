"""Prepare functions for the workers: choose their Python, send evenkey, and check both."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING, Any

from pyspark import SparkFiles, cloudpickle

from evenkey.core.errors import ConfigurationError
from evenkey.spark.sessions import open_task as opening
from evenkey.spark.sessions.own_package import NEEDS, own_package, send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from evenkey.spark.sessions.open_task import Package

_ASK = f"import json, sys, {', '.join(NEEDS)}; print(json.dumps(sys.version_info[:2]))"
_ASKING_SECONDS = 60
_LOCAL = ("local", "local-cluster")

_seen: weakref.WeakSet[SparkContext] = weakref.WeakSet()

cloudpickle.register_pickle_by_value(opening)  # type: ignore[no-untyped-call]


def in_workers(
    session: SparkSession,
    function: Any,
    *,
    problems_as_words: bool = False,
    beside_driver: bool = False,
) -> Any:
    """Prepare a function for the Python workers of a session, and check that they can run it.

    If the user has not set the workers' Python, a local session uses the Python of this program. If
    the user has set it, a local session checks once, without a job, whether that Python can run
    tasks. On other hosts and over Connect, only a worker itself can check this: if it cannot run
    the task, it fails with one line that names the interpreter, the host and the fix.

    Where workers have another Python than this program, evenkey is sent to them, once per session.

    Parameters
    ----------
    session
        Session in which the function runs.
    function
        Function of a task. Or another object that is sent to workers, such as the processor of a
        stream with state; in a worker it is the object itself.
    problems_as_words
        Whether the function is for a scalar subquery. If it cannot be unpickled, the error is then
        returned as words (`open_task.problem_words`).
    beside_driver
        Whether Spark also calls the function in a Python process beside the driver, as it does with
        the processor of a stream with state. That process gets no files of the session, so the
        function says where evenkey's archive is on the driver's host. Over Connect, the function
        carries the archive. In a classic session it must not: PySpark broadcasts functions above
        1 MiB, and that process cannot read broadcasts.

    Returns
    -------
    callable
        The same function, for ``mapInArrow`` or ``arrow_udf``, or to be called by another function
        that workers get.

    Raises
    ------
    ConfigurationError
        The Python chosen on this machine lacks a package, or has another minor version.
    """
    check_python(session)
    context = getattr(session, "_sc", None)  # a session over Connect has none
    others = context is None or not _runs_here(context) or not is_own_python(context.pythonExec)
    beside = others and beside_driver
    folder = SparkFiles.getRootDirectory() if beside and context is not None else ""
    carrying = beside and context is None
    task = _Task(function, folder, carrying=carrying, problems_as_words=problems_as_words)
    if others:
        send(session)
    return task


def check_python(session: SparkSession) -> None:
    """Choose and check the workers' Python as `in_workers` does, without preparing a function.

    Raises
    ------
    ConfigurationError
        The Python chosen on this machine lacks a package, or has another minor version.
    """
    context = getattr(session, "_sc", None)  # a session over Connect has none
    if context is not None and context not in _seen:
        _choose_python(context)
        _seen.add(context)


def is_own_python(command: str) -> bool:
    """Return whether a command starts the interpreter of this program."""
    return shutil.which(command) == sys.executable


class _Task:
    """A function that `open_task` unpickles in the worker, so that failures are explained."""

    def __init__(
        self,
        function: Any,
        folder: str = "",
        *,
        carrying: bool = False,
        problems_as_words: bool = False,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        if not hasattr(self, "__name__"):
            self.__name__ = type(function).__name__
        self._function = function
        self._folder = folder
        self._carrying = carrying
        self._as_words = problems_as_words

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __reduce__(self) -> tuple[Callable[[bytes, Package], Any], tuple[bytes, Package]]:
        pickled = cloudpickle.dumps(self._function)  # type: ignore[no-untyped-call]
        opens = opening.open_giving_problems if self._as_words else opening.open_task
        return opens, (pickled, own_package(self._folder, content=self._carrying))


def _runs_here(context: SparkContext) -> bool:
    """Return whether the executors of a session are on this machine."""
    return str(context.master).partition("[")[0] in _LOCAL


def _choose_python(context: SparkContext) -> None:
    if not _runs_here(context):
        return
    if not os.environ.get("PYSPARK_PYTHON"):
        context.pythonExec = sys.executable
        return
    chosen = context.pythonExec
    if is_own_python(chosen):
        return
    lacking = _lacking(chosen)
    if lacking is not None:
        message = (
            f"PYSPARK_PYTHON = {chosen!r}: the workers' Python {lacking}; unset it, or set it to "
            f"{sys.executable} before the session starts"
        )
        raise ConfigurationError(message)


def _lacking(python: str) -> str | None:
    """Return why an interpreter of this machine cannot be used; None: it can."""
    try:
        answer = subprocess.run(  # noqa: S603 - the one that Spark would run
            [python, "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=_ASKING_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({getattr(error, 'strerror', None) or error})"
    if answer.returncode:
        last = answer.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
        return f"cannot run Spark's Python functions ({last[0]})"
    version, ours = json.loads(answer.stdout), sys.version_info[:2]
    if tuple(version) != ours:
        return f"is {version[0]}.{version[1]}, and this program's is {ours[0]}.{ours[1]}"
    return None
