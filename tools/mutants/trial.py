"""Run tests against a copy of the repository in which one place is changed."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tools.mutants.rooms import module_of, nearest_tests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.mutants.mutations import Mutant
    from tools.mutants.rooms import Room

__all__ = ["Copy", "Fate"]

_COPIED = ("src", "tests", "tools", "docs", "benchmarks", "conftest.py", "pyproject.toml", "*.md")
_OWN = {"evenkey", "tests", "tools", "benchmarks", "conftest"}
_MEMORY = 12 << 30
_SECONDS, _SECONDS_ON_SPARK = 90, 900
"""Processor time of a test, and of a process where tests are on Spark, which has several."""
_IDLE = 600
"""Looks, about a second apart, in which a run may stand still. Counted are looks, not seconds: who
is stopped, and goes on later, has looked no more often."""


@dataclass(frozen=True)
class Fate:
    """What became of a mutant.

    Parameters
    ----------
    fate
        ``killed``, ``exceeded`` (its limit of processor time; a mutant so noticed is dead too), or
        ``survived``.
    by
        The test that failed first, or what else ended the run.
    seconds
        Processor time of all runs.
    """

    fate: str
    by: str = ""
    seconds: float = 0.0


class Copy:
    """A copy of the repository, in which mutants are tried one after the other.

    Parameters
    ----------
    root
        Of the repository.
    place
        An empty directory.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self.root = place / "copy"
        self._cache = place / "numba"
        self._own_cache = place / "numba-of-a-mutant"
        self._output = place / "output.txt"
        self.root.mkdir()
        for source in (each for name in _COPIED for each in root.glob(name)):
            target = self.root / source.name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)

    def check(self, room: Room) -> float:
        """Run the tests of a room unchanged, and give their seconds; they must pass.

        Kernels are compiled here, once.
        """
        tests = [file.as_posix() for file in (self.root / "tests" / room.name).rglob("test_*.py")]
        found = self._run(sorted(tests), on_spark=False, cache=self._cache)
        if found.fate != "survived":
            message = f"{room.name}: {found.by} fails without a mutant:\n{self.output()}"
            raise RuntimeError(message)
        return found.seconds

    def output(self) -> str:
        """The end of what the last run printed."""
        return self._output.read_text("utf-8", errors="replace")[-4000:]

    def try_one(self, mutant: Mutant, room: Room, *, quick: bool = False) -> Fate:
        """Run the tests of its room against a mutant till one fails: those that name it first.

        If `quick`, these alone.
        """
        named, others = nearest_tests(self.root, room, mutant.path)
        # Its examples come last: a module that pytest imports before any test does is another one
        # than that which tests have, and change for their time.
        runs = [([*named, mutant.path], False)]
        if not quick:
            runs += [(others, False), *([(named, True)] if room.on_spark else [])]
        spent = 0.0
        with self._changed(mutant) as cache:
            for tests, on_spark in runs:
                found = self._run(tests, on_spark=on_spark, cache=cache)
                spent += found.seconds
                if found.fate != "survived":
                    return Fate(found.fate, found.by, round(spent, 1))
        return Fate("survived", seconds=round(spent, 1))

    @contextlib.contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[Path]:
        """Change a file for as long as it takes; gives the cache of compiled kernels to use."""
        file = self.root / mutant.path
        source = file.read_bytes()
        changed = [file]
        cache = self._cache
        if file.name == "_kernels.py":
            # Numba asks of what it kept only whether its own file has changed. So a mutant has a
            # cache of its own, and whoever calls its kernels is compiled anew too.
            changed += self._callers(mutant.path)
            cache = self._own_cache
            shutil.rmtree(cache, ignore_errors=True)
            if self._cache.exists():
                shutil.copytree(self._cache, cache)
        times = {each: each.stat() for each in changed}
        file.write_bytes(mutant.apply(source))
        for each in changed:
            # What Python and numba compiled before must not stand for what is there now.
            _forget_compiled(each)
            os.utime(each, ns=(times[each].st_atime_ns, time.time_ns()))
        try:
            yield cache
        finally:
            file.write_bytes(source)
            for each in changed:
                _forget_compiled(each)
                os.utime(each, ns=(times[each].st_atime_ns, times[each].st_mtime_ns))

    def _callers(self, path: str) -> list[Path]:
        """Kernels that call those of a file, or that call such."""
        modules, files = {module_of(path)}, []
        kernels = sorted((self.root / "src").rglob("_kernels.py"))
        for _ in kernels:
            for each in kernels:
                name = module_of(each.relative_to(self.root).as_posix())
                text = each.read_text("utf-8")
                if name not in modules and any(f"from {one} import" in text for one in modules):
                    modules.add(name)
                    files.append(each)
        return files

    def _run(self, tests: list[str], *, on_spark: bool, cache: Path) -> Fate:
        """Run tests in a process of their own, forked so that imports are paid for once."""
        if not tests:
            return Fate("survived")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = self.root / "report.json"
        report.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            _run_here(self.root, tests, on_spark=on_spark, cache=cache)
        status, waited = _wait(child)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if waited:
            return Fate("exceeded", "stands still", seconds)
        if os.WIFSIGNALED(status):
            ended = signal.Signals(os.WTERMSIG(status)).name
            return Fate("exceeded" if ended == "SIGXCPU" else "killed", ended, seconds)
        code = os.waitstatus_to_exitcode(status)
        if code in {0, int(pytest.ExitCode.NO_TESTS_COLLECTED)}:
            return Fate("survived", seconds=seconds)
        by = json.loads(report.read_text("utf-8")) if report.exists() else None
        return Fate("killed", by or f"exit code {code}", seconds)


def _run_here(root: Path, tests: list[str], *, on_spark: bool, cache: Path) -> None:
    """Become a run of pytest in the copy; never returns."""
    code = 1
    try:
        os.setsid()
        if on_spark:
            resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS_ON_SPARK, _SECONDS_ON_SPARK))
        else:
            _limit()
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        output = os.open(root.parent / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(root)
        os.environ |= {
            "PYTHONPATH": str(root / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(cache),
            "NUMBA_BOUNDSCHECK": "1",
        }
        sys.dont_write_bytecode = True
        if "numba" in sys.modules:  # It has read its settings.
            config = sys.modules["numba"].config
            config.CACHE_DIR, config.BOUNDSCHECK = str(cache), 1
        # Whatever was imported from the repository itself is imported anew from the copy.
        for name in [name for name in sys.modules if name.split(".")[0] in _OWN]:
            del sys.modules[name]
        own = {path for path in sys.path if (Path(path) / "evenkey").is_dir()}
        own |= {path for path in sys.path if (Path(path) / "tools" / "mutants").is_dir()}
        sys.path[:] = [str(root / "src"), *(path for path in sys.path if path not in own)]
        sys.path_importer_cache.clear()
        watch = _Watch(root, on_spark=on_spark)
        # A test's time is limited by the processor alone: the machine may be a busy one.
        options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "timeout=0"]
        options += ["-p", "no:xdist", "-p", "no:benchmark"]
        code = int(pytest.main([*options, f"--basetemp={root.parent / 'tmp'}", *tests], [watch]))
    except BaseException:  # noqa: BLE001 - whatever it is, this process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Watch:
    """Chooses tests by whether they start Spark, and writes down which one failed."""

    def __init__(self, root: Path, *, on_spark: bool) -> None:
        self._report = root / "report.json"
        self._on_spark = on_spark

    @staticmethod
    def pytest_configure() -> None:
        import hypothesis  # not before pytest has seen to its plugin

        # An example that fails is enough: the smallest would take far longer to find.
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", hypothesis.settings(), phases=phases)
        hypothesis.settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[Any]) -> None:
        left_out = [item for item in items if _on_spark(item) != self._on_spark]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _on_spark(item) == self._on_spark]

    def pytest_runtest_setup(self) -> None:
        if not self._on_spark:
            _limit()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._write(report)

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self._report.exists():
            self._report.write_text(json.dumps(report.nodeid), "utf-8")


def _limit() -> None:
    """Let this process compute for so long from now on."""
    spent = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent) + _SECONDS, resource.RLIM_INFINITY))


def _on_spark(item: Any) -> bool:
    if isinstance(item, pytest.DoctestItem):
        return any("spark" in each.source for each in item.dtest.examples)
    return "spark" in item.fixturenames


def _wait(child: int) -> tuple[int, bool]:
    """Wait for a process; one whose whole group computes nothing for long is ended."""
    computed, idle = -1, 0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        stands_still = idle >= _IDLE
        if done or stands_still:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            if not done:
                os.waitpid(child, 0)
            return status, stands_still
        now = _ticks(child)
        computed, idle = now, idle + 1 if now == computed > 0 else 0
        time.sleep(0.3 if idle == 0 else 1.0)


def _ticks(group: int) -> int:
    """Processor time of a session's processes, in ticks; 0 where the system does not say."""
    total = 0
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = each.read_text("utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == group:
                total += int(fields[11]) + int(fields[12])
    return total


def _forget_compiled(file: Path) -> None:
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()
