"""A table of the outcomes of many kills and runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["kills_of", "summary"]

_PHASES = ("starting", "inside", "between", "closing")


def kills_of(records: Iterable[dict[str, Any]]) -> int:
    """Count the kills that hit a living run."""
    return sum(record.get("hit", False) for record in records)


def summary(records: Sequence[dict[str, Any]]) -> str:
    """Write a table of kills by kind and phase, and of runs by subject.

    Parameters
    ----------
    records
        Records of kills, which have ``kind``, and of runs, which have ``subject``.
    """
    kills = [record for record in records if "kind" in record and record["hit"]]
    runs = [record for record in records if "subject" in record]
    hits = Counter((record["kind"], record["phase"]) for record in kills)
    kinds = sorted({kind for kind, _ in hits})
    lines = [_row("kill", *_PHASES, "all")]
    for kind in kinds:
        numbers = [hits[kind, phase] for phase in _PHASES]
        lines.append(_row(kind, *numbers, sum(numbers)))
    of_phases = [sum(hits[kind, phase] for kind in kinds) for phase in _PHASES]
    lines += [_row("all", *of_phases, len(kills)), ""]
    lines.append(_row("run", "runs", "kills", "exact", "faults"))
    for subject in [*sorted({record["subject"] for record in runs}), "all"]:
        chosen = [record for record in runs if subject in {"all", record["subject"]}]
        exact = sum(record["exact"] for record in chosen)
        faults = sum(bool(record["faults"]) for record in chosen)
        struck = sum(record["kills"] for record in chosen)
        lines.append(_row(subject, len(chosen), struck, exact, faults))
    for record in runs:
        if record["faults"]:
            lines += ["", f"run {record['run']} has faults; alone: {record['repeat']}"]
            lines += [f"  {fault}" for fault in record["faults"]]
    return "\n".join(lines)


def _row(name: str, *cells: object) -> str:
    return f"{name:<12}" + "".join(f"{cell:>10}" for cell in cells)
