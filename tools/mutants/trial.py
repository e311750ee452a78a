"""Run tests against a copy of the repository in which one place of the code is changed."""

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

from tools.mutants.subpackages import fast_tests, module_of, nearest_tests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.mutants.mutations import Mutant
    from tools.mutants.subpackages import Subpackage

__all__ = ["Copy", "Fate"]

_LEFT_OUT = ("build", ".git", ".venv", "*_cache", "__pycache__", ".benchmarks", ".hypothesis")
_BUILT = ("java-classes.jsa", "kafka", "hadoop")
"""Files and folders of ``build`` that tests use."""
FAST = "not slow and not soak and not benchmark"
"""The fast tests, as an argument of pytest's ``-m``."""
_OWN = {"evenkey", "tests", "tools", "benchmarks", "conftest"}
_MEMORY = 12 << 30
_SECONDS, _SECONDS_ON_SPARK = 90, 900
"""Maximum processor time of a test; of a whole process, if its tests use Spark."""
_IDLE = 600
"""Number of checks, about a second apart, in which a run may use no processor time. It counts
checks and not seconds, because time may also pass while this process is suspended."""


@dataclass(frozen=True)
class Fate:
    """The outcome of the tests on a mutant.

    Parameters
    ----------
    fate
        ``killed``, ``exceeded`` (the tests exceeded the limit of processor time, which counts as
        killed), or ``survived``.
    by
        The test that failed first, or another reason why the run ended.
    seconds
        Processor time of all runs.
    on_spark
        Whether that test uses the common Spark session of the tests.
    """

    fate: str
    by: str = ""
    seconds: float = 0.0
    on_spark: bool = False


class Copy:
    """A copy of the repository, in which mutants are tried one after the other.

    Parameters
    ----------
    root
        Root directory of the repository.
    place
        Empty directory for the copy.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self.root = place / "copy"
        self._cache = place / "numba"
        self._own_cache = place / "numba-of-a-mutant"
        self._output = place / "output.txt"
        self._sound, self._broken = set[str](), set[str]()
        self._sound_runs = set[tuple[str, ...]]()
        shutil.copytree(root, self.root, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        (self.root / "build").mkdir()
        for built in _BUILT:
            if (root / "build" / built).exists():
                (self.root / "build" / built).symlink_to((root / "build" / built).resolve())

    def check(self, subpackage: Subpackage) -> float:
        """Check that the tests of a subpackage pass without a mutant; return their seconds.

        This also compiles all kernels once.
        """
        tests = [file.as_posix() for file in subpackage.tests(self.root)]
        found = self._run(tests, on_spark=False, cache=self._cache)
        if found.fate != "survived":
            message = f"{subpackage.name}: {found.by} fails without a mutant:\n{self.output()}"
            raise RuntimeError(message)
        return found.seconds

    def output(self) -> str:
        """Return the end of the output of the last run."""
        return self._output.read_text("utf-8", errors="replace")[-4000:]

    def try_one(self, mutant: Mutant, subpackage: Subpackage, *, quick: bool = False) -> Fate:
        """Run the subpackage's tests on a mutant until one fails, first those that name the module.

        If `quick`, only tests that name the module run.
        """
        named, others = nearest_tests(self.root, subpackage, mutant.path)
        # The module's doctests come last: if pytest imported the module for them first, tests
        # would import, and patch, another module object.
        runs = [([*named, mutant.path], False)]
        if not quick:
            runs += [(others, False), *([(named, True)] if subpackage.on_spark else [])]
        return self._try(mutant, runs)[0]

    def try_fast(self, mutant: Mutant, subpackage: Subpackage) -> Fate:
        """Run the fast tests on a mutant until one fails, first those that name the module.

        Tests that start Spark come last, in one process. A run that ends without the name of a test
        (by a signal, a limit, an error of pytest) kills the mutant only if the same run passes
        without the mutant. A test that also fails without the mutant is not used from then on.
        """
        named, others = fast_tests(self.root, subpackage, mutant.path)
        runs = [([*named, mutant.path], False), (others, False)]
        runs.append(([*named, mutant.path, *others], True))
        while True:
            fate, tests = self._try(mutant, runs, marked=FAST)
            if fate.fate == "survived" or self._passes_unchanged(fate, tests):
                return fate

    def _passes_unchanged(self, fate: Fate, tests: list[str]) -> bool:
        """Return whether the test that killed a mutant, or else its whole run, passes without it.

        If not, the test that fails is excluded from all further runs.
        """
        if "::" in fate.by:
            if fate.by in self._sound:
                return True
            if fate.by in self._broken:
                message = f"pytest ran {fate.by}, although --deselect excludes it"
                raise RuntimeError(message)
            control = self._run([fate.by], on_spark=fate.on_spark, cache=self._cache)
            if control.fate == "survived":
                self._sound.add(fate.by)
                return True
            self._broken.add(fate.by)
            return False
        # The whole run, as it is not known which test it stopped in.
        whole = (str(fate.on_spark), *tests)
        if whole in self._sound_runs:
            return True
        control = self._run(tests, on_spark=fate.on_spark, cache=self._cache, marked=FAST)
        if control.fate == "survived":
            self._sound_runs.add(whole)
            return True
        if "::" not in control.by:
            message = f"the tests end by {control.by} without a mutant:\n{self.output()}"
            raise RuntimeError(message)
        self._broken.add(control.by)
        return False

    @property
    def broken(self) -> set[str]:
        """Tests that failed without a mutant."""
        return self._broken

    def _try(
        self, mutant: Mutant, runs: list[tuple[list[str], bool]], marked: str = ""
    ) -> tuple[Fate, list[str]]:
        """Run tests until a run fails; return the outcome, and the tests of that run."""
        spent = 0.0
        with self._changed(mutant) as cache:
            for tests, on_spark in runs:
                found = self._run(tests, on_spark=on_spark, cache=cache, marked=marked)
                spent += found.seconds
                if found.fate != "survived":
                    return Fate(found.fate, found.by, round(spent, 1), on_spark), tests
        return Fate("survived", seconds=round(spent, 1)), []

    @contextlib.contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[Path]:
        """Apply a mutant inside the context; yield the cache of compiled kernels to use."""
        file = self.root / mutant.path
        source = file.read_bytes()
        changed = [file]
        cache = self._cache
        if file.name == "_kernels.py":
            # Numba only checks whether the file of a kernel itself has changed. So a mutant gets
            # its own cache, and the kernels that call its kernels are compiled again too.
            changed += self._callers(mutant.path)
            cache = self._own_cache
            shutil.rmtree(cache, ignore_errors=True)
            if self._cache.exists():
                shutil.copytree(self._cache, cache)
        times = {each: each.stat() for each in changed}
        file.write_bytes(mutant.apply(source))
        for each in changed:
            # Python and Numba must not use what they compiled from the unchanged file.
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
        """Return the files of kernels that call those of a file, directly or indirectly."""
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

    def _run(self, tests: list[str], *, on_spark: bool, cache: Path, marked: str = "") -> Fate:
        """Run tests in a forked process, so that imports are done only once."""
        if not tests:
            return Fate("survived")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = self.root / "report.json"
        report.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            options = [f"--deselect={each}" for each in sorted(self._broken)]
            options += ["-m", marked] if marked else []
            _run_here(self.root, [*options, *tests], on_spark=on_spark, cache=cache)
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


def _run_here(root: Path, arguments: list[str], *, on_spark: bool, cache: Path) -> None:
    """Run pytest in the copy, and exit this process; never returns."""
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
        if "numba" in sys.modules:  # It has already read its environment variables.
            config = sys.modules["numba"].config
            config.CACHE_DIR, config.BOUNDSCHECK = str(cache), 1
        # Modules that were imported from the repository are imported again from the copy.
        for name in [name for name in sys.modules if name.split(".")[0] in _OWN]:
            del sys.modules[name]
        own = {path for path in sys.path if (Path(path) / "evenkey").is_dir()}
        own |= {path for path in sys.path if (Path(path) / "tools" / "mutants").is_dir()}
        sys.path[:] = [str(root / "src"), *(path for path in sys.path if path not in own)]
        sys.path_importer_cache.clear()
        watch = _Watch(root, on_spark=on_spark)
        # Only processor time is limited, not wall time: the machine may be loaded.
        options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "timeout=0"]
        options += ["-p", "no:xdist", "-p", "no:benchmark"]
        code = int(
            pytest.main([*options, f"--basetemp={root.parent / 'tmp'}", *arguments], [watch])
        )
    except BaseException:  # noqa: BLE001 - this process ends here in any case
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Watch:
    """Pytest plugin that selects tests with or without Spark, and records the first failure."""

    def __init__(self, root: Path, *, on_spark: bool) -> None:
        self._report = root / "report.json"
        self._on_spark = on_spark

    @staticmethod
    def pytest_configure() -> None:
        import hypothesis  # not before pytest has loaded its plugin

        # Any failing example is enough; shrinking it to the smallest takes far longer.
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
    """Limit the processor time of this process, counted from now."""
    spent = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent) + _SECONDS, resource.RLIM_INFINITY))


def _on_spark(item: Any) -> bool:
    if isinstance(item, pytest.DoctestItem):
        return any("spark" in each.source for each in item.dtest.examples)
    return "spark" in item.fixturenames


def _wait(child: int) -> tuple[int, bool]:
    """Wait for a process; kill it and its group if they use no processor time for long."""
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
    """Return the processor time of a session's processes in ticks; 0 if ``/proc`` is missing."""
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
