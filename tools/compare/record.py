"""The record of a comparison that is stored as JSON."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.compare.measure import NAMES
from tools.compare.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.compare.measure import Round
    from tools.compare.sides import Side, Source
    from tools.compare.verdict import Verdict

__all__ = ["hardware", "record_of"]


def record_of(
    first: Side, second: Side, rounds: Sequence[Round], cases_from: Source
) -> tuple[Verdict, dict[str, Any]]:
    """Compute the verdict on rounds, and the record for the file of the result.

    Parameters
    ----------
    first, second
        The sides A and B.
    rounds
        The measured rounds.
    cases_from
        The working tree, which contains the cases and this tool.
    """
    verdict = judge(*([each.seconds[name] for each in rounds] for name in NAMES))
    versions = rounds[0].versions
    return verdict, {
        "verdict": str(verdict),
        "outcome": verdict.outcome,
        "ratio": asdict(verdict.ratio),
        "noise": asdict(verdict.noise),
        "sides": {
            name: {
                "commit": side.source.commit,
                "dirty": side.source.dirty,
                "case": asdict(side.case),
                "versions": versions[name],
            }
            for name, side in (("A", first), ("B", second))
        },
        "cases_from": {"commit": cases_from.commit, "dirty": cases_from.dirty},
        "rounds": [
            {
                "order": each.order,
                "seconds": each.seconds,
                "load": [reading._asdict() for reading in each.load],
            }
            for each in rounds
        ],
        "hardware": hardware(),
    }


def hardware() -> dict[str, Any]:
    """Describe this machine: cores, memory in bytes, processor and system."""
    model = platform.processor()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "processor": model,
        "system": platform.platform(),
    }
