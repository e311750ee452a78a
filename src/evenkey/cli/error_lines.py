"""Report the error of a command as one line and an exit code, without a trace."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import signal
import threading
import traceback
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from evenkey.cli.output import echo
from evenkey.core import errors
from evenkey.core.addresses import without_password
from evenkey.core.errors import ConfigurationError, EvenkeyError, of_file_handles, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

_FAILED, _USAGE, _INTERRUPTED, _TERMINATED = 1, 2, 130, 143

_TRACES: ContextVar[bool] = ContextVar("_TRACES", default=False)

_TRACE_START = "Traceback (most recent call last):"
_OURS = re.compile(r"^evenkey\.core\.errors\.(?P<name>\w+): (?P<message>.+)$", re.MULTILINE)
_CAUSE = re.compile(r"^Caused by: (?P<message>.+)$", re.MULTILINE)
_WRAPPERS = ("py4j.", "pyspark.errors.")
_PREAMBLE = re.compile(
    r"^(?:An error occurred while calling \S+\n: |.*? terminated with exception: )"
)
_NO_PACKAGE = "No module named 'evenkey'"
_WORKERS_FIX = (
    ": the workers' Python lacks it; install evenkey on their hosts, or set PYSPARK_PYTHON to an "
    "interpreter that has it"
)
_STATE = re.compile(r"\s*SQLSTATE: \w+")


class Explanation(NamedTuple):
    """The message of an error, and the exit code of the program."""

    message: str
    exit_code: int


def show_traces(*, wanted: bool) -> None:
    """Choose whether errors are printed with their full trace."""
    _TRACES.set(wanted)


def explain(error: BaseException) -> Explanation:
    """Find the most informative message in an error, and the exit code.

    Spark wraps an error of a task or a sink several times: in the text of a Python trace, in
    exceptions of the JVM, and in the exception that ends the query. If any of these errors is an
    `EvenkeyError`, its message is returned unchanged. Otherwise the message of the innermost error
    is returned.

    Examples
    --------
    >>> explain(ConfigurationError("workers = 0: must be at least 1"))
    Explanation(message='workers = 0: must be at least 1', exit_code=2)
    """
    handles = of_file_handles(error)
    if handles is not None:
        return Explanation(str(handles), _FAILED)
    for cause in _causes(error):
        if isinstance(cause, EvenkeyError):
            return Explanation(str(cause), _exit_code(type(cause)))
    text = text_of(error)
    ours = list(_OURS.finditer(text))
    if ours:
        kind = getattr(errors, ours[-1]["name"], EvenkeyError)
        return Explanation(_STATE.sub("", ours[-1]["message"]), _exit_code(kind))
    line = _informative_line(error, text)
    if line.endswith(_NO_PACKAGE):
        line += _WORKERS_FIX
    return Explanation(line, _FAILED)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _exit_code(kind: type) -> int:
    return _USAGE if issubclass(kind, ConfigurationError) else _FAILED


def _informative_line(error: BaseException, text: str) -> str:
    innermost = [line for line in _trace_ends(text) if not line.startswith(_WRAPPERS)]
    if innermost:
        return _STATE.sub("", innermost[-1])
    causes = _CAUSE.findall(text)
    if causes:
        return str(causes[-1])
    line = next(iter(_PREAMBLE.sub("", text).strip().splitlines()), "")
    if type(error).__module__.startswith(("py4j", "pyspark")) and line:
        return _STATE.sub("", line)
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _trace_ends(text: str) -> Iterator[str]:
    """Yield the line that names the exception after each Python trace in a text."""
    margin: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.endswith(_TRACE_START):
            # All lines of a trace may be indented, or its first line may follow other text.
            margin = indent if line.strip() == _TRACE_START else 0
        elif margin is not None and line.strip() and indent <= margin:
            margin = None
            yield line.strip()


class _TerminatedError(KeyboardInterrupt):
    """The process received SIGTERM."""


@contextlib.contextmanager
def _termination_heard() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, while the context is open."""

    def end(*_: object) -> None:
        raise _TerminatedError

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


@contextlib.contextmanager
def interrupted_with(note: str) -> Iterator[None]:
    """Add a note to the message of an interrupt: what remains, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(note)
        raise


def going_on(output: Path | str | None) -> AbstractContextManager[None]:
    """Add a note to the message of an interrupt: whether the same command continues the run."""
    if output is None:
        return interrupted_with("nothing was kept; with --output the same command continues a run")
    return interrupted_with("the same command continues where this run stopped")


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command report each error in one line, and add the option ``--debug``."""

    @functools.wraps(command)
    def with_reports(*, debug: bool, **given: Any) -> None:
        if debug:
            show_traces(wanted=True)
        try:
            with _termination_heard():
                command(**given)
        except KeyboardInterrupt as interrupt:
            terminated = isinstance(interrupt, _TerminatedError)
            what = "terminated" if terminated else "interrupted"
            echo(": ".join([what, *getattr(interrupt, "__notes__", ())]), err=True)
            raise typer.Exit(_TERMINATED if terminated else _INTERRUPTED) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - the outermost handler
            raise typer.Exit(report_error(error)) from None

    signature = inspect.signature(command, eval_str=True)
    option = typer.Option("--debug", help="Print the full trace of an error.")
    flag = inspect.Parameter(
        "debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option]
    )
    parameters = [*signature.parameters.values(), flag]
    with_reports.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_reports.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_reports


def report_error(error: Exception) -> int:
    """Print an error in one line on standard error, and return the exit code of the program."""
    explanation = explain(error)
    if _TRACES.get():
        echo(without_password("".join(traceback.format_exception(error))), err=True, nl=False)
    for line in without_password(explanation.message).splitlines():
        echo(f"error: {line}", err=True)
    if explanation.exit_code == _FAILED and not _TRACES.get():
        echo("(--debug shows the full trace)", err=True)
    return explanation.exit_code
