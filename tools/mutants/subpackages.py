"""Find the mutants of each subpackage, and the tests that should run on them first."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.mutants.mutations import mutants

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from tools.mutants.mutations import Mutant

__all__ = [
    "TOP",
    "Subpackage",
    "draw",
    "fast_tests",
    "module_of",
    "nearest_tests",
    "sample",
    "subpackages",
]

TOP = "evenkey"
"""Name of the subpackage that consists of the package's modules outside of any folder."""
GROUPS = ("core", "papers", "pipeline", "reports")
"""Folders that contain subpackages; their own modules are a subpackage too."""


@dataclass(frozen=True)
class Subpackage:
    """A folder of the package, or the modules of the package outside of any folder.

    Parameters
    ----------
    name
        Path of the folder below ``src/evenkey``, with dots, or `TOP`. Its tests are in the folder
        of ``tests`` that is named like the last part.
    first
        Modules whose mutants come before all others.
    on_spark
        Whether it imports PySpark. Then, of the test files that name the module, tests that start
        Spark run too.
    """

    name: str
    first: tuple[str, ...] = ()
    on_spark: bool = False

    def sources(self, root: Path) -> list[Path]:
        """List the files of its modules."""
        folder = root / "src" / "evenkey"
        if self.name != TOP:
            folder = folder.joinpath(*self.name.split("."))
        return sorted(folder.rglob("*.py") if self._is_whole else folder.glob("*.py"))

    def tests(self, root: Path) -> list[Path]:
        """List its test files; a subpackage without a folder in ``tests`` has none."""
        folder = root / "tests"
        if not self._is_whole:
            return sorted(folder.glob("test_*.py"))
        return sorted((folder / self.name.rpartition(".")[2]).rglob("test_*.py"))

    @property
    def _is_whole(self) -> bool:
        """Whether it includes the folders inside its folder."""
        return self.name != TOP and self.name not in GROUPS


_OWN, _NAMED, _ELSEWHERE, _FAR, _PROMISE = range(5)
"""Distances of a test file from a module, by which test files are ordered."""
_FIRST = {
    "joins": (
        "placement",
        "planning",
        "planner",
        "distributor",
        "balanced",
        "work",
        "epoch_log",
    )
}
_SPARK = re.compile(rb"^\s*(?:import|from) pyspark\b", re.MULTILINE)


def subpackages(root: Path) -> dict[str, Subpackage]:
    """Find all subpackages, by name.

    Parameters
    ----------
    root
        Root directory of the repository.
    """
    top = root / "src" / "evenkey"
    folders = [each.parent.name for each in top.glob("*/__init__.py")]
    for group in GROUPS:
        folders += [f"{group}.{each.parent.name}" for each in (top / group).glob("*/__init__.py")]
    found = {}
    for name in [TOP, *sorted(folders)]:
        sources = Subpackage(name).sources(root)
        on_spark = any(_SPARK.search(file.read_bytes()) for file in sources)
        found[name] = Subpackage(name, _FIRST.get(name, ()), on_spark)
    return found


def sample(root: Path, subpackage: Subpackage, seed: int) -> list[Mutant]:
    """Return all mutants of a subpackage in random order.

    Parameters
    ----------
    root
        Root directory of the repository.
    subpackage
        The subpackage whose modules are changed.
    seed
        Seed of the order; the same seed gives the same order for the same sources.
    """
    found = []
    for file in subpackage.sources(root):
        found += mutants(file.relative_to(root).as_posix(), file.read_bytes())
    # By its last name, so that moving the folder does not change the order.
    name = subpackage.name.rpartition(".")[2]
    random.Random(f"{seed} {name}").shuffle(found)  # noqa: S311 - no secret
    first = subpackage.first
    return sorted(found, key=lambda each: bool(first) and _stem(each.path) not in first)


def draw(
    root: Path,
    subpackage: Subpackage,
    seed: int,
    count: int,
    spared: Container[tuple[str, ...]] = (),
) -> list[Mutant]:
    """Return the first mutants of `sample`, without those that may survive.

    Parameters
    ----------
    root, subpackage, seed
        As for `sample`.
    count
        Number of mutants; fewer if the subpackage does not have as many.
    spared
        Changes of mutants that may survive, in the form of `Mutant.change`.
    """
    drawn = sample(root, subpackage, seed)
    return [each for each in drawn if each.change not in spared][:count]


def nearest_tests(root: Path, subpackage: Subpackage, path: str) -> tuple[list[str], list[str]]:
    """Return the test files of a subpackage that name a module, nearest first, and the others.

    For a subpackage without tests, they are the test files of other folders that name the module.

    Examples
    --------
    >>> from pathlib import Path
    >>> joins = subpackages(Path())["joins"]
    >>> nearest_tests(Path(), joins, "src/evenkey/joins/balance/placement.py")[0][0]
    'tests/joins/test_placement.py'
    """
    near = _own_tests(root, subpackage, path) or _tests_elsewhere(root, subpackage, path)
    if min(near.values(), default=_NAMED) == _FAR:  # No file names it: take its folder's, or all.
        folder = subpackage.name.replace(".", "/")
        inner = path.removeprefix(f"src/evenkey/{folder}/").rpartition("/")[0]
        own = {test for test in near if inner and f"/{inner}/" in test}
        near |= dict.fromkeys(own or near, _NAMED)
    ordered = _ordered(near)
    named = [test for test in ordered if near[test] < _FAR]
    return named, ordered[len(named) :]


def fast_tests(root: Path, subpackage: Subpackage, path: str) -> tuple[list[str], list[str]]:
    """Return the test files of all folders that name a module, nearest first, and the others.

    The others are those of its subpackage, then those of ``tests/promises``. For a subpackage
    without tests, they are the test files of the subpackages that import it.
    """
    near = _own_tests(root, subpackage, path)
    if not near:
        users = [each for each in subpackages(root).values() if _imports(root, each, subpackage)]
        files = [file for each in users for file in each.tests(root)]
        near = dict.fromkeys((file.relative_to(root).as_posix() for file in files), _FAR)
    near |= _tests_elsewhere(root, subpackage, path)
    for file in sorted((root / "tests" / "promises").rglob("test_*.py")):
        near.setdefault(file.relative_to(root).as_posix(), _PROMISE)
    ordered = _ordered(near)
    named = [test for test in ordered if near[test] < _FAR]
    return named, ordered[len(named) :]


def _imports(root: Path, one: Subpackage, other: Subpackage) -> bool:
    said = re.compile(rf"^\s*from evenkey\.{re.escape(other.name)}\b", re.MULTILINE)
    return one != other and any(said.search(f.read_text("utf-8")) for f in one.sources(root))


def _own_tests(root: Path, subpackage: Subpackage, path: str) -> dict[str, int]:
    names = "|".join(map(re.escape, [module_of(path), *_defined((root / path).read_bytes())]))
    said, near = re.compile(rf"\b(?:{names})\b"), {}
    for file in subpackage.tests(root):
        distance = _NAMED if said.search(file.read_text("utf-8")) else _FAR
        own = file.stem == f"test_{_stem(path)}"
        near[file.relative_to(root).as_posix()] = _OWN if own else distance
    return near


def _tests_elsewhere(root: Path, subpackage: Subpackage, path: str) -> dict[str, int]:
    """Return test files of other folders that import the module, or a name that it defines."""
    module, defined = module_of(path), _defined((root / path).read_bytes())
    said = rf"\b{re.escape(module)}\b"
    if defined:
        names = rf"(?:{'|'.join(map(re.escape, defined))})\b"
        said += rf"|\b(?:eks?|evenkey[\w.]*)\.{names}"
        said += rf"|^\s*from evenkey[\w.]* import (?:\([^)]*|[^\n(]*)\b{names}"
    found, own = re.compile(said, re.MULTILINE), {*subpackage.tests(root)}
    return {
        file.relative_to(root).as_posix(): _ELSEWHERE
        for file in sorted((root / "tests").rglob("test_*.py"))
        if file not in own and found.search(file.read_text("utf-8"))
    }


def _ordered(near: dict[str, int]) -> list[str]:
    return sorted(near, key=lambda test: (near[test], test))


def module_of(path: str) -> str:
    """Convert the path of a module of the package to its dotted name.

    Examples
    --------
    >>> module_of("src/evenkey/joins/balance/placement.py")
    'evenkey.joins.balance.placement'
    """
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".py")


def _defined(source: bytes) -> list[str]:
    """Return the names of the functions and classes that a module defines for others."""
    tree = ast.parse(source)
    names = [each.name for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]
