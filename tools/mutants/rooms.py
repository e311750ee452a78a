"""Which mutants belong to which room, and which tests look at them first."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.mutants.mutations import mutants

if TYPE_CHECKING:
    from pathlib import Path

    from tools.mutants.mutations import Mutant

__all__ = ["ROOMS", "Room", "module_of", "nearest_tests", "sample"]


@dataclass(frozen=True)
class Room:
    """A folder of the package.

    Parameters
    ----------
    name
        Of the folder in ``src/evenkey`` and in ``tests``.
    first
        Modules whose mutants come before all others.
    on_spark
        Whether tests that start Spark are asked too, of those files that name the module.
    """

    name: str
    first: tuple[str, ...] = ()
    on_spark: bool = False


_NAMED, _FAR = 1, 2
"""How far a test file is from a module, where it is not the module's own."""
_PLACING = ("placement", "planning", "planner", "distributor", "balanced", "work", "epoch_log")
ROOMS = {
    room.name: room
    for room in (
        Room("groupings"),
        Room("sketches"),
        Room("aggregators"),
        Room("metrics"),
        Room("joins", first=_PLACING, on_spark=True),
        Room("simulation"),
    )
}


def sample(root: Path, room: Room, seed: int) -> list[Mutant]:
    """Give all mutants of a room in the order that a seed draws.

    Parameters
    ----------
    root
        Of the repository.
    room
        Whose modules are changed.
    seed
        The same one gives the same order for the same sources.
    """
    found = []
    for file in sorted((root / "src" / "evenkey" / room.name).rglob("*.py")):
        found += mutants(file.relative_to(root).as_posix(), file.read_bytes())
    random.Random(f"{seed} {room.name}").shuffle(found)  # noqa: S311 - no secret
    return sorted(found, key=lambda each: bool(room.first) and _stem(each.path) not in room.first)


def nearest_tests(root: Path, room: Room, path: str) -> tuple[list[str], list[str]]:
    """Give the test files of a room that name a module, the nearest first, and the others.

    Examples
    --------
    >>> from pathlib import Path
    >>> first, _ = nearest_tests(Path(), ROOMS["joins"], "src/evenkey/joins/planner.py")
    >>> first[0]
    'tests/joins/test_planner.py'
    """
    stem = _stem(path)
    names = "|".join(map(re.escape, [module_of(path), *_defined((root / path).read_bytes())]))
    said = re.compile(rf"\b(?:{names})\b")
    near: dict[str, int] = {}
    folder = root / "tests" / room.name
    for file in sorted(folder.rglob("test_*.py")):
        distance = _NAMED if said.search(file.read_text("utf-8")) else _FAR
        near[file.relative_to(root).as_posix()] = 0 if file.stem == f"test_{stem}" else distance
    if min(near.values()) == _FAR:  # None names it: then those of its folder, or all.
        inner = path.removeprefix(f"src/evenkey/{room.name}/").rpartition("/")[0]
        own = {test for test in near if inner and f"/{inner}/" in test}
        near |= dict.fromkeys(own or near, _NAMED)
    ordered = sorted(near, key=lambda test: (near[test], test))
    named = [test for test in ordered if near[test] < _FAR]
    return named, ordered[len(named) :]


def module_of(path: str) -> str:
    """Give the dotted name of a module of the package.

    Examples
    --------
    >>> module_of("src/evenkey/joins/planner.py")
    'evenkey.joins.planner'
    """
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".py")


def _defined(source: bytes) -> list[str]:
    """What a module defines for others to use."""
    tree = ast.parse(source)
    names = [each.name for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]
