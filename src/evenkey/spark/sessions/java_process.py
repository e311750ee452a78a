"""Start Spark's Java process without its usual warnings, and report clearly when it dies."""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from evenkey.core.errors import RunError, most_handles, too_few_handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark import SparkContext
    from pyspark.sql.streaming import StreamingQuery

LOG_VARIABLE = "EVENKEY_SPARK_LOG"
"""Environment variable with Spark's log level, such as INFO; if it is set, no line is hidden."""

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
_TRACE = b"Traceback (most recent call last):"
_BEFORE_TRACE = (
    b"PySpark daemon failed to flush the output to the worker process:",
    b"During handling of the above exception, another exception occurred:",
)
_FRAME = b"  File "
_FRAME_OF_SPARK = re.compile(rb'  File ".*[/\\]pyspark[/\\]')
_END_OF_LEFT = re.compile(rb"(?:BrokenPipeError|ConnectionResetError): ")
"""Last line of the traceback that a Python worker of Spark prints if Java disconnects before the
worker has sent its whole answer: over Unix sockets, sending the rest fails immediately. It can be
hidden if all its frames are Spark's, because real errors in a worker are sent to Java.
"""
_KEPT_LINES = 20
_PATIENCE_SECONDS = 5.0
_OUT_OF_MEMORY = 52
"""Exit code with which Spark ends a Java process that is out of memory."""
_UNCAUGHT = (50, 51)
"""Exit codes with which Spark ends a Java process after an uncaught error."""
_FILE = "--properties-file"
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""Environment variable with arguments of spark-submit, which PySpark passes to it."""
_PLAIN = re.compile(r"[\w.,/-]", re.ASCII)
_LOST = ("py4j.protocol.Py4JNetworkError", "py4j.protocol.Py4JError")
"""Classes of errors that a call raises if the Java process died; subclasses have other causes."""
_LEAST_HANDLES = 300
"""With fewer file handles, Java cannot open Spark's jars, and Java's errors do not say why."""
_RAISED_ANYWAY = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.SparkUncaughtExceptionHandler",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter",
)
"""Loggers that print a task's error with its stack trace, although the driver raises the error."""
_MEMORY = "if Java lacked memory, give it more (SPARK_DRIVER_MEMORY=4g)"
_FIX = "give the same command again, which continues where this run stopped if it has an output"

_last_lines: collections.deque[bytes] = collections.deque(maxlen=_KEPT_LINES)


def log_level(environment: Mapping[str, str] = os.environ) -> str:
    """Return the log level of Spark: ERROR, or the value of ``EVENKEY_SPARK_LOG``."""
    name = environment.get(LOG_VARIABLE, "").upper()
    return name if name in _LOG_LEVELS else _DEFAULT_LOG_LEVEL


def start_java(settings: Mapping[str, str]) -> None:
    """Start Spark's Java process for later sessions, unless it already runs.

    With a local master, the Java process ignores SIGTERM, which programs such as `timeout` send to
    the whole process group. So this program can finish the running epoch, and Java ends when this
    program ends. Java's standard error is passed on, except for lines that Java prints at every
    start. If ``EVENKEY_SPARK_LOG`` is set, these lines are passed on too. Otherwise py4j logs no
    stack traces of connections that end because Java died: the program raises these errors anyway.

    Parameters
    ----------
    settings
        Settings of the session. They are passed in a file that only this user can read, because all
        users of the machine can read the arguments of a process.

    Raises
    ------
    RunError
        The process ended before it was ready; the message has the last line that it printed. Or the
        limit of open files is too low to start Java.
    """
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    shown = LOG_VARIABLE in os.environ
    if not shown:
        # Before Java starts: it can die from its first second on.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        logging.getLogger().addFilter(_not_of_py4j)
    if SparkContext._gateway is not None or "SPARK_REMOTE" in os.environ:  # noqa: SLF001
        return
    limit = most_handles(hard=True)
    if limit is not None and limit < _LEAST_HANDLES:
        raise too_few_handles(limit)
    reading, writing = os.pipe()
    thread = threading.Thread(
        target=_pass_on, args=(os.fdopen(reading, "rb"), shown), name="evenkey-java-stderr"
    )
    thread.daemon = True
    thread.start()
    # Only for `local`: executors of a local-cluster would inherit the ignored SIGTERM, by which
    # Spark ends them.
    _deaf_children.wanted = settings.get("spark.master", "").partition("[")[0] == "local"
    try:
        with _settings_in_file(settings):
            gateway = launch_gateway(None, {"stderr": writing})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        os.close(writing)
        thread.join(_PATIENCE_SECONDS)
        last = next((line for line in reversed(_last_lines) if line.strip()), b"")
        reason = last.decode(errors="replace").strip() or "it printed nothing"
        message = (
            f"Spark's Java process ended before it was ready ({reason}): fix the cause; "
            f"{LOG_VARIABLE}=INFO shows its output"
        )
        raise RunError(message) from error
    finally:
        _deaf_children.wanted = False
    os.close(writing)
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001


@contextlib.contextmanager
def _settings_in_file(settings: Mapping[str, str]) -> Iterator[None]:
    """Let spark-submit read settings from a file, which only this user can read, while it starts.

    Settings in ``PYSPARK_SUBMIT_ARGS`` override the file, and the file overrides the defaults of
    Spark's configuration. spark-submit reads one such file, so if the variable names one, its lines
    come first, and later lines override them.
    """
    given = os.environ.get(_ARGUMENTS)
    arguments = shlex.split(given or "pyspark-shell")
    before = ["--load-spark-defaults"]
    lines = [f"{_escaped(key)}={_escaped(value)}\n".encode() for key, value in settings.items()]
    if _FILE in arguments[:-1]:
        at = arguments.index(_FILE)
        before, lines = [], [Path(arguments[at + 1]).read_bytes(), b"\n", *lines]
        del arguments[at : at + 2]
    descriptor, name = tempfile.mkstemp(prefix="evenkey-", suffix=".properties")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(lines)
        os.environ[_ARGUMENTS] = shlex.join([*before, _FILE, name, *arguments])
        yield
    finally:
        if given is None:
            os.environ.pop(_ARGUMENTS, None)
        else:
            os.environ[_ARGUMENTS] = given
        Path(name).unlink(missing_ok=True)


def _escaped(text: str) -> str:
    """Return a text as Java reads it from a properties file, whatever characters it contains."""
    units = text.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    pairs = ((chr(int(unit, 16)), unit) for unit in units)
    return "".join(each if _PLAIN.fullmatch(each) else f"\\u{unit}" for each, unit in pairs)


class _DeafChildren(threading.local):
    """Whether processes that this thread starts ignore SIGTERM."""

    wanted = False

    def after_fork(self) -> None:
        if self.wanted:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


_deaf_children = _DeafChildren()
# PySpark offers no other way to run code between fork and exec.
os.register_at_fork(after_in_child=_deaf_children.after_fork)


def keep_quiet(context: SparkContext) -> None:
    """Keep Spark from printing stack traces of errors that the program raises anyway.

    Spark's Java code prints them for failed tasks, and the thread that gets the values of
    accumulators prints one if Java dies.
    """
    log4j: Any = context._jvm.org.apache.logging.log4j  # type: ignore[union-attr] # noqa: SLF001
    if LOG_VARIABLE in os.environ:
        # Without a log level, Spark's filter for interactive programs hides a logger.
        chosen = log4j.Level.toLevel(log_level())
        log4j.core.config.Configurator.setLevel("org.apache.spark", chosen)
        return
    for logger in _RAISED_ANYWAY:
        log4j.core.config.Configurator.setLevel(logger, log4j.Level.OFF)
    server: Any = context._accumulatorServer  # noqa: SLF001
    print_trace = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            print_trace(request, address)

    server.handle_error = handle_error


@contextlib.contextmanager
def ending_unlogged(query: StreamingQuery) -> Iterator[None]:
    """Keep Spark from logging the error that ends a query, because the error is raised anyway.

    Parameters
    ----------
    query
        Query that ends within the ``with`` block. Its driver must be in this process.
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
        # If Java has died, there is no log level to restore.
        with contextlib.suppress(Py4JError, ConnectionError):
            configurator.setLevel(logger, log_level_before)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _pass_on(lines: IO[bytes], shown: bool) -> None:  # noqa: FBT001 - a thread's argument
    """Write the lines of Java's standard error to the standard error of this process."""
    with lines:
        for line in lines if shown else _worth_showing(lines):
            _last_lines.append(line)
            with contextlib.suppress(OSError):
                os.write(2, line)


def _worth_showing(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines, without `_NOISE` and without tracebacks of workers that Java has left.

    Several workers can print at the same time, so the lines of their tracebacks can alternate:
    lines are held until all tracebacks that have begun have ended.
    """
    held: list[bytes] = []
    unended = 0
    hidden = False
    for line in lines:
        text = line.strip()
        begins = text == _TRACE
        if begins or text in _BEFORE_TRACE or (held and (not text or _is_inside(line))):
            held.append(line)
            unended += begins
        elif unended and _END_OF_LEFT.match(line):
            held.append(line)
            unended -= 1
            if not unended:
                held, hidden = [], True
                continue
        elif not (hidden and not text):
            yield from held
            held, unended = [], 0
            if not _NOISE.match(line):
                yield line
        hidden = hidden and not text
    yield from held


def _is_inside(line: bytes) -> bool:
    """Return whether a line can be inside a traceback all of whose frames are Spark's."""
    return line.startswith(b"  ") and (
        not line.startswith(_FRAME) or _FRAME_OF_SPARK.match(line) is not None
    )


@contextlib.contextmanager
def java_deaths_named() -> Iterator[None]:
    """Replace an error that follows the death of Spark's Java by an error that reports the death.

    Raises
    ------
    RunError
        The process died; the message has the cause and the fix.
    """
    try:
        yield
    except Exception as error:
        death = _death(error)
        if death is None:
            raise
        raise RunError(death) from error


def _death(error: BaseException) -> str | None:
    """Return a message on how Java died; None: Java is alive, or not a child of this process."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    if not isinstance(process, subprocess.Popen):
        return None
    code = process.poll()
    if code is None and (_lost(error) or _has_stopped()):
        # Java is about to end: it may still be writing a heap dump.
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(_PATIENCE_SECONDS)
    if code is None:
        return None
    return f"Spark's Java process has died ({_cause(code)}): {_FIX}; {_MEMORY}"


def _cause(code: int) -> str:
    if code == _OUT_OF_MEMORY:
        return "out of memory"
    if code in _UNCAUGHT:
        return f"an uncaught error; {LOG_VARIABLE}=ERROR shows it"
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    by_system = ", perhaps by the system, for lack of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{by_system}"


def _lost(error: BaseException | None) -> bool:
    """Return whether an error, or one of its causes, is a lost connection to Java."""
    while error is not None:
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        if kind in _LOST or isinstance(error, ConnectionError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _has_stopped() -> bool:
    """Return whether Java has stopped Spark itself, as it does before it ends for lack of memory.

    Calls to Spark then raise any error until Java has ended.
    """
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001 - None once the program stopped it
    if context is None:
        return False
    try:
        return bool(context._jsc.sc().isStopped())  # noqa: SLF001
    except Exception as error:  # noqa: BLE001 - Java may end during this call
        return _lost(error)
