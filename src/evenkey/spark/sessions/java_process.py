"""Spark's Java process: started quietly, and named when it dies."""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from evenkey.core.errors import RunError, most_handles, too_few_handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark import SparkContext
    from pyspark.sql.streaming import StreamingQuery

LOG_VARIABLE = "EVENKEY_SPARK_LOG"
"""Sets the log level of Spark, such as INFO; then no line is hidden."""

_DEFAULT_LOG_LEVEL = "ERROR"
_LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF", "ALL")
_NOISE = re.compile(
    rb"WARNING: Using incubator modules: "
    rb"|WARNING: (A terminally deprecated method in sun\.misc\.Unsafe|sun\.misc\.Unsafe::)"
    rb"|WARNING: (A restricted method in java\.lang|java\.lang\.System::load)"
    rb"|WARNING: Restricted methods will be blocked"
    rb"|WARNING: (Please consider reporting this to the maintainers|Use --enable-native-access)"
    rb"|Using Spark's default log4j profile: "
    rb"|Setting default log level to "
    rb"|To adjust logging level use sc\.setLogLevel"
    rb"|Setting Spark log level to "
    rb"|\S+ \S+ WARN NativeCodeLoader: Unable to load native-hadoop library"
    rb"|\S+ \S+ WARN Utils: Your hostname, .* resolves to a loopback address"
    rb"|\S+ \S+ WARN Utils: Set SPARK_LOCAL_IP if you need to bind to another address"
)
"""Lines that each start of Spark prints and that need no action."""
_LEFT = (
    re.compile(rb"Traceback \(most recent call last\):$"),
    re.compile(rb'  File ".*[/\\]pyspark[/\\]daemon\.py", line \d+, in manager$'),
    re.compile(rb'  File ".*[/\\]pyspark[/\\]daemon\.py", line \d+, in worker$'),
    re.compile(rb"BrokenPipeError: "),
)
"""The trace of a Spark Python process from which Java disconnected before the last word of its
answer: over Unix sockets that fails immediately. Errors in such a process are sent to Java.
"""
_KEPT_LINES = 20
_PATIENCE_SECONDS = 5.0
_OUT_OF_MEMORY = 52
"""Exit code with which Spark ends a Java process that is out of memory."""
_UNCAUGHT = (50, 51)
"""With which it ends one in which an error was not caught."""
_HIDDEN = re.compile(r"secret|password|token|access[.]?key|account\.key|credential", re.IGNORECASE)
"""Matches names of settings with secret values: those that Spark redacts, and some of stores."""
_LOST = ("py4j.protocol.Py4JNetworkError", "py4j.protocol.Py4JError")
"""Errors of a call to a Java process that died; of the second the class itself, no subclass."""
_LEAST_HANDLES = 300
"""Java needs more file handles for Spark's own archives, and its messages do not name the limit."""
_RAISED_ANYWAY = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.SparkUncaughtExceptionHandler",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter",
)
"""Loggers of a task's error with its trace, which the driver raises anyway."""
_MEMORY = "if it lacked memory, give it more (SPARK_DRIVER_MEMORY=4g)"
_FIX = "give the same command again: with an output it continues where this run stopped"

_last_lines: collections.deque[bytes] = collections.deque(maxlen=_KEPT_LINES)


def log_level(environment: Mapping[str, str] = os.environ) -> str:
    """Give the log level of Spark: ERROR, or the value of ``EVENKEY_SPARK_LOG``."""
    name = environment.get(LOG_VARIABLE, "").upper()
    return name if name in _LOG_LEVELS else _DEFAULT_LOG_LEVEL


def start_java(settings: Mapping[str, str]) -> None:
    """Start Spark's Java process for sessions to come, unless there is one.

    On this machine it does not hear the signal to terminate, which `timeout` and others send to
    the whole group of processes: the program lets the epoch end that runs, and Java ends with
    the program. Its standard error comes through, but for the lines that every start prints;
    ``EVENKEY_SPARK_LOG`` shows these too.

    Parameters
    ----------
    settings
        Of the session, which sets them itself. Secret settings are not passed to the process.

    Raises
    ------
    RunError
        It ended before it was ready, and the message has its last line; or it may have too few
        files open to begin at all.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None or "SPARK_REMOTE" in os.environ:  # noqa: SLF001
        return
    limit = most_handles(hard=True)
    if limit is not None and limit < _LEAST_HANDLES:
        raise too_few_handles(limit)
    # What is given here, any user of the machine reads in its list of processes.
    shown_settings = [each for each in settings.items() if not _HIDDEN.search(each[0])]
    conf = SparkConf().setAll(shown_settings)
    shown = LOG_VARIABLE in os.environ
    reading, writing = os.pipe()
    thread = threading.Thread(
        target=_pass_on, args=(os.fdopen(reading, "rb"), shown), name="evenkey-java-stderr"
    )
    thread.daemon = True
    thread.start()
    # Executors of a small cluster inherit what is not heard, and are ended by that signal.
    _deaf_children.wanted = settings.get("spark.master", "").partition("[")[0] == "local"
    try:
        gateway = launch_gateway(conf, {"stderr": writing})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        os.close(writing)
        thread.join(_PATIENCE_SECONDS)
        last = next((line for line in reversed(_last_lines) if line.strip()), b"")
        reason = last.decode(errors="replace").strip() or "it said nothing"
        message = (
            f"Spark's Java process ended before it was ready ({reason}): correct this; "
            f"{LOG_VARIABLE}=INFO shows its output"
        )
        raise RunError(message) from error
    finally:
        _deaf_children.wanted = False
    os.close(writing)
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)  # noqa: SLF001


class _DeafChildren(threading.local):
    """Whether processes that this thread starts are not to hear the signal to terminate."""

    wanted = False

    def after_fork(self) -> None:
        if self.wanted:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


_deaf_children = _DeafChildren()
# PySpark leaves no other way to have something done between fork and exec.
os.register_at_fork(after_in_child=_deaf_children.after_fork)


def keep_quiet(context: SparkContext) -> None:
    """Let nothing print the trace of what is raised, too, where it matters.

    On Spark's Python side these are a call from Java that failed, and connections that end
    because Java died; on its Java side, tasks that failed.
    """
    log4j: Any = context._jvm.org.apache.logging.log4j  # type: ignore[union-attr] # noqa: SLF001
    if LOG_VARIABLE in os.environ:
        # Spark's filter for interactive programs hides loggers without a log level.
        chosen = log4j.Level.toLevel(log_level())
        log4j.core.config.Configurator.setLevel("org.apache.spark", chosen)
        return
    for logger in _RAISED_ANYWAY:
        log4j.core.config.Configurator.setLevel(logger, log4j.Level.OFF)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_py4j)
    server: Any = context._accumulatorServer  # noqa: SLF001
    print_trace = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            print_trace(request, address)

    server.handle_error = handle_error


@contextlib.contextmanager
def ending_unlogged(query: StreamingQuery) -> Iterator[None]:
    """Keep Spark from logging, with its trace, the error that ends a query: it is raised anyway.

    Parameters
    ----------
    query
        Of this machine's driver, and seen to its end within the block.
    """
    if LOG_VARIABLE in os.environ:
        yield
        return
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    log4j: Any = SparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr] # noqa: SLF001
    configurator = log4j.core.config.Configurator
    logger = query._jsq.streamingQuery().getClass().getName()  # noqa: SLF001 - its log has no other name
    log_level_before = log4j.LogManager.getLogger(logger).getLevel()
    configurator.setLevel(logger, log4j.Level.OFF)
    try:
        yield
    finally:
        # A Java that has died has no log either.
        with contextlib.suppress(Py4JError, ConnectionError):
            configurator.setLevel(logger, log_level_before)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _pass_on(lines: IO[bytes], shown: bool) -> None:  # noqa: FBT001 - a thread's argument
    """Let the lines of Java's standard error through to this process's own."""
    for line in lines if shown else _worth_showing(lines):
        _last_lines.append(line)
        with contextlib.suppress(OSError):
            os.write(2, line)


def _worth_showing(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Leave out `_NOISE`, and whole traces that are `_LEFT`."""
    held: list[bytes] = []
    seen = 0
    for line in lines:
        if seen and line.startswith(b"    "):  # what stands in the file of a trace
            held.append(line)
            continue
        if not _LEFT[seen].match(line):
            yield from held
            held, seen = [], 0
        if _LEFT[seen].match(line):
            held.append(line)
            seen += 1
            if seen == len(_LEFT):
                held, seen = [], 0
        elif not _NOISE.match(line):
            yield line
    yield from held


@contextlib.contextmanager
def java_deaths_named() -> Iterator[None]:
    """Replace the errors that follow the death of Spark's Java process by one that names it.

    Raises
    ------
    RunError
        It died; the message names the cause and the fix.
    """
    try:
        yield
    except Exception as error:
        death = _death(error)
        if death is None:
            raise
        raise RunError(death) from error


def _death(error: BaseException) -> str | None:
    """Say how Java died; None where it lives, or is no child of this process."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    if not isinstance(process, subprocess.Popen):
        return None
    code = process.poll()
    if code is None and _lost(error):
        # It is about to end: the last thing that it writes is a dump of its memory.
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(_PATIENCE_SECONDS)
    if code is None:
        return None
    return f"Spark's Java process has died ({_cause(code)}): {_FIX}; {_MEMORY}"


def _cause(code: int) -> str:
    if code == _OUT_OF_MEMORY:
        return "out of memory"
    if code in _UNCAUGHT:
        return f"an error that nobody caught; {LOG_VARIABLE}=ERROR shows it"
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    by_system = ", perhaps by the system, for want of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{by_system}"


def _lost(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, is a lost connection to Java."""
    while error is not None:
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        if kind in _LOST or isinstance(error, ConnectionError):
            return True
        error = error.__cause__ or error.__context__
    return False
