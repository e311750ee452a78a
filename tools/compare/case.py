"""Time cases in this process: ``python -m tools.compare.case REQUEST OUTPUT``, both JSON files.

A case is a generator function. It gets its options, sets up, and yields a function; a call of this
function is timed. Code after the yield cleans up. If the function returns a float, that counts as
its seconds, for example of processor time.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import importlib.util
import json
import platform
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Case", "versions"]

ROOT = Path(__file__).parents[2]
_PACKAGES = ("pyspark", "numpy", "pyarrow", "numba")


@dataclass(frozen=True)
class Case:
    """A case: a function in a file, and its options.

    Parameters
    ----------
    path, name
        Path of the file, relative to the repository or absolute, and name of the function.
    options
        Keyword arguments of the function.
    """

    path: str
    name: str
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Case:
        """Read ``NAME``, ``NAME(option=value)`` or ``FILE.py:NAME``; values may be bare words.

        Raises
        ------
        ValueError
            The text has none of these forms.

        Examples
        --------
        >>> Case.parse("mine.py:work(grouping=pkg,workers=32)")
        Case(path='mine.py', name='work', options={'grouping': 'pkg', 'workers': 32})
        """
        place, bracket, rest = text.partition("(")
        path, _, name = place.rpartition(":")
        with contextlib.suppress(SyntaxError, ValueError):
            tree = ast.parse(f"f({rest}" if bracket else "f()", mode="eval").body
            if name.isidentifier() and isinstance(tree, ast.Call) and not tree.args:
                options = {str(each.arg): _value(each.value) for each in tree.keywords}
                return cls(path or "benchmarks/cases.py", name, options)
        message = f"case {text!r}: write NAME, NAME(option=value) or FILE.py:NAME"
        raise ValueError(message)

    def load(self) -> Callable[..., Iterator[Callable[[], object]]]:
        """Import the file and return the function."""
        module = sys.modules.get(f"case {self.path}")
        if module is None:
            spec = importlib.util.spec_from_file_location(f"case {self.path}", ROOT / self.path)
            if spec is None or spec.loader is None:
                message = f"{self.path}: is not a Python file"
                raise ValueError(message)
            module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        function: Callable[..., Iterator[Callable[[], object]]] = getattr(module, self.name)
        return function


def main() -> None:
    """Set up and warm up each case once, then time them in order."""
    request, output = (Path(each) for each in sys.argv[1:3])
    asked = json.loads(request.read_text("utf-8"))
    cases = [Case(**each) for each in asked["cases"]]
    runs: dict[str, Callable[[], object]] = {}
    with contextlib.ExitStack() as stack:
        for case in cases:
            if repr(case) not in runs:
                made = contextlib.contextmanager(case.load())(**case.options)
                run = runs[repr(case)] = stack.enter_context(made)
                for _ in range(asked["warm_ups"]):
                    run()
        seconds = [_timed(runs[repr(case)]) for case in cases]
        found = {"seconds": seconds, "versions": versions()}
    _check_source(Path(asked["source"]))
    output.write_text(json.dumps(found), "utf-8")


def _value(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    own = run()
    return own if isinstance(own, float) else time.perf_counter() - start


def versions() -> dict[str, str | None]:
    """Return the versions of Python, Java (None without a session) and packages."""
    java = None
    if "pyspark.sql" in sys.modules:
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        jvm: Any = getattr(spark, "_jvm", None)
        java = jvm and jvm.java.lang.System.getProperty("java.version")
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "java": java, **packages}


def _check_source(source: Path) -> None:
    """Check that the measured package is the one in this directory."""
    package = sys.modules.get("evenkey")
    if package is not None and not Path(str(package.__file__)).is_relative_to(source):
        message = f"evenkey was imported from {package.__file__}, not from {source}"
        raise RuntimeError(message)


if __name__ == "__main__":
    main()
