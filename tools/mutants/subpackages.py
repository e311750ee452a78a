"""Which mutants belong to which subpackage, and which tests look at them first."""

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
"""Modules that lie in no folder of the package are one subpackage of this name."""
GROUPS = ("core", "papers", "pipeline", "reports")
"""Folders of subpackages; what lies in none of these is a subpackage too."""


@dataclass(frozen=True)
class Subpackage:
    """A folder of the package, or its modules that lie in none.

    Parameters
    ----------
    name
        Of the folder in ``src/evenkey``, with a dot for a folder in it, whose tests lie in a folder
        of the last part's name; `TOP`.
    first
        Modules whose mutants come before all others.
    on_spark
        Whether it needs Spark: then tests that start Spark run too, of those files that name the
        module.
    """

    name: str
    first: tuple[str, ...] = ()
    on_spark: bool = False

    def sources(self, root: Path) -> list[Path]:
        """List its modules."""
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
        """Whether it has all that lies in its folder."""
        return self.name != TOP and self.name not in GROUPS


_OWN, _NAMED, _ELSEWHERE, _FAR, _PROMISE = range(5)
"""How far a test file is from a module."""
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
        Of the repository.
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
    """Give all mutants of a subpackage in the order that a seed draws.

    Parameters
    ----------
    root
        Of the repository.
    subpackage
        Whose modules are changed.
    seed
        The same one gives the same order for the same sources.
    """
    found = []
    for file in subpackage.sources(root):
        found += mutants(file.relative_to(root).as_posix(), file.read_bytes())
    # By its last name: where it lies may change.
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
    """Give the first mutants that a seed draws; the next one stands in for one that is spared.

    Parameters
    ----------
    root, subpackage, seed
        As for `sample`.
    count
        How many; fewer where the subpackage has no more.
    spared
        Changes that are justified, as `Mutant.change` has them.
    """
    drawn = sample(root, subpackage, seed)
    return [each for each in drawn if each.change not in spared][:count]


def nearest_tests(root: Path, subpackage: Subpackage, path: str) -> tuple[list[str], list[str]]:
    """Give the test files of a subpackage that name a module, the nearest first, and the others.

    One without tests of its own has those that name the module elsewhere.

    Examples
    --------
    >>> from pathlib import Path
    >>> joins = subpackages(Path())["joins"]
    >>> nearest_tests(Path(), joins, "src/evenkey/joins/balance/rebalancing.py")[0][0]
    'tests/joins/test_rebalancing.py'
    """
    near = _own_tests(root, subpackage, path) or _tests_elsewhere(root, subpackage, path)
    if min(near.values(), default=_NAMED) == _FAR:  # None names it: those of its folder, or all.
        folder = subpackage.name.replace(".", "/")
        inner = path.removeprefix(f"src/evenkey/{folder}/").rpartition("/")[0]
        own = {test for test in near if inner and f"/{inner}/" in test}
        near |= dict.fromkeys(own or near, _NAMED)
    ordered = _ordered(near)
    named = [test for test in ordered if near[test] < _FAR]
    return named, ordered[len(named) :]


def fast_tests(root: Path, subpackage: Subpackage, path: str) -> tuple[list[str], list[str]]:
    """Give the test files that name a module, of all folders, the nearest first; and the others.

    The others are those of its subpackage, then those of the promises. A subpackage without tests
    of its own has those of the subpackages that import it.
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
    """Give test files of other folders that import the module, or what it defines."""
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
    """Give the dotted name of a module of the package.

    Examples
    --------
    >>> module_of("src/evenkey/joins/balance/rebalancing.py")
    'evenkey.joins.balance.rebalancing'
    """
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".py")


def _defined(source: bytes) -> list[str]:
    """What a module defines for others to use."""
    tree = ast.parse(source)
    names = [each.name for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]
