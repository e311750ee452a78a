"""Mutants that may survive, because they change nothing that a user can observe."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tools.mutants.mutations import mutants

__all__ = ["justified"]

FILE = Path(__file__).with_name("justified.toml")
_FIELDS = ("path", "at", "kind", "before", "after")


def justified(root: Path, text: str | None = None) -> set[tuple[str, ...]]:
    """Read the changes of mutants that may survive, in the form of ``Mutant.change``.

    Parameters
    ----------
    root
        Root directory of the repository.
    text
        List of the mutants in TOML. None: the content of `FILE`.

    Raises
    ------
    ValueError
        An entry has no reason, or its file does not (or no longer) have such a mutant.
    """
    given = tomllib.loads(FILE.read_text("utf-8") if text is None else text)["mutant"]
    changes = set[tuple[str, ...]]()
    for each in given:
        change = tuple(each[field] for field in _FIELDS)
        file = root / each["path"]
        there = mutants(each["path"], file.read_bytes()) if file.exists() else []
        if not each.get("why") or change not in {mutant.change for mutant in there}:
            message = f"{FILE.name}: {change}: it needs a reason, and to be a mutant of its file"
            raise ValueError(message)
        changes.add(change)
    return changes
