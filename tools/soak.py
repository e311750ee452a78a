"""Run the soak tests part by part: ``python -m tools.soak [PART ...]``.

A part is a group of folders of ``tests/``. After each part pytest prints why tests were skipped
(`tests/skips.py`). At the end the program prints a table with the results of each part.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "build" / "soak"

PARTS = {
    "clusters": ("tests/cluster",),
    "stores": ("tests/stores",),
    "runs": ("tests/runs", "tests/kills", "tests/cli"),
    "pipelines": (
        "tests/aggregate",
        "tests/learn",
        "tests/publish_subscribe",
        "tests/applications",
    ),
    "kafka": ("tests/kafka",),
    "operators": ("tests/spark", "tests/joins"),
    "faults": ("tests/faults",),
}
"""Folders by part; the part ``others`` has all folders that are not listed here."""
OTHERS = "others"


@dataclass
class Outcome:
    """The results of the tests of a part.

    Parameters
    ----------
    code
        Exit code of pytest.
    seconds
        Wall time of the part.
    counts
        Numbers of tests that ``passed``, ``failed`` or were ``skipped``.
    """

    code: int
    seconds: float
    counts: Counter[str] = field(default_factory=Counter)


def arguments(part: str) -> list[str]:
    """Return pytest's arguments that select the folders of a part.

    Examples
    --------
    >>> arguments("stores")
    ['tests/stores']
    >>> arguments("others")[:2]
    ['tests', '--ignore=tests/cluster']
    """
    if part != OTHERS:
        return list(PARTS[part])
    return ["tests", *(f"--ignore={each}" for folders in PARTS.values() for each in folders)]


def read(report: Path, code: int, seconds: float) -> Outcome:
    """Count the tests in a report of pytest (JUnit XML)."""
    outcome = Outcome(code, seconds)
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest has just written it
        fates = {child.tag for child in case}
        failed = "failed" if fates & {"failure", "error"} else "passed"
        outcome.counts["skipped" if "skipped" in fates else failed] += 1
    return outcome


def summary(outcomes: dict[str, Outcome]) -> str:
    """Return the table of parts, and below it parts that ended with an error, as text."""
    lines = [f"{'part':10} {'passed':>6} {'failed':>6} {'skipped':>7} {'minutes':>7}"]
    for part, each in outcomes.items():
        passed, failed, skipped = (each.counts[fate] for fate in ("passed", "failed", "skipped"))
        lines.append(f"{part:10} {passed:6} {failed:6} {skipped:7} {each.seconds / 60:7.1f}")
    for part, each in outcomes.items():
        if each.code and not each.counts["failed"]:
            lines.append(f"{part}: pytest ended with exit code {each.code}")
    return "\n".join(lines)


def main(parts: list[str]) -> int:
    """Run parts one after the other; return the exit code."""
    known = [*PARTS, OTHERS]
    unknown = [each for each in parts if each not in known]
    if unknown:
        print(f"error: no part {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    REPORTS.mkdir(parents=True, exist_ok=True)
    outcomes = {}
    for part in parts or known:
        report = REPORTS / f"{part}.xml"
        report.unlink(missing_ok=True)
        began = time.monotonic()
        done = subprocess.run(  # noqa: S603 - pytest, on folders of this repository
            [
                *(sys.executable, "-m", "pytest", "--verbose", "-m", "soak"),
                *(f"--junitxml={report}", "--numprocesses", "3", "--dist", "worksteal"),
                *arguments(part),
            ],
            cwd=ROOT,
            check=False,
        )
        seconds = time.monotonic() - began
        if not report.exists():
            outcomes[part] = Outcome(done.returncode, seconds)
        else:
            outcomes[part] = read(report, done.returncode, seconds)
    print(summary(outcomes))
    return int(any(each.code for each in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
