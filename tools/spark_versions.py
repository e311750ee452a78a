"""Run the tests of operators and joins on several versions of Spark, in two time zones.

``python tools/spark_versions.py build/spark-versions 4.1 4.2 4.3-pandas-3``: the directory contains
an environment for each version, named after it. Prints a table of how many tests passed; the exit
code is 1 if one failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDERS = ("tests/spark", "tests/joins")
ZONES = ("UTC", "America/St_Johns")  # the second is 3:30 behind, in summer 2:30
# Spark 4.1 does not close the sockets through which it sent rows to the driver.
_LEFT_OPEN = ("-Wignore::ResourceWarning", "-Wignore::pytest.PytestUnraisableExceptionWarning")
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)")


def run(environment: Path, zone: str, tests: list[str]) -> dict[str, int]:
    """Run tests in an environment, print those that did not pass, and count the outcomes."""
    python = environment / "bin" / "python"
    done = subprocess.run(  # noqa: S603 - the checkout's own environment
        [python, "-m", "pytest", "-q", "-rfEs", "--tb=short", *_LEFT_OPEN, *tests],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TZ": zone, "EVENKEY_TEST_ZONE": zone},
    )
    lines = done.stdout.splitlines()
    named = [line for line in lines if line.startswith(("FAILED", "ERROR", "SKIPPED"))]
    print(*(f"{environment.name} {zone}: {line}" for line in named), sep="\n")
    counts = {kind: int(count) for count, kind in _COUNT.findall(lines[-1] if lines else "")}
    if done.returncode and not counts.get("failed"):
        counts["error"] = counts.get("error", 0) + 1
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return counts


def main(home: Path, versions: list[str], options: list[str]) -> int:
    """Run all tests, and print a row for each version, time zone and folder."""
    rows = [
        (version, zone, folder, run(home / version, zone, [*options, folder]))
        for version in versions
        for zone in ZONES
        for folder in FOLDERS
    ]
    kinds = ("passed", "skipped", "failed", "error")
    print(f"{'Spark':<15}{'zone':<18}{'tests':<13}", *(f"{kind:>8}" for kind in kinds))
    for version, zone, folder, counts in rows:
        cells = (f"{counts.get(kind, 0):>8}" for kind in kinds)
        print(f"{version:<15}{zone:<18}{folder:<13}", *cells)
    return int(any(counts.get("failed") or counts.get("error") for *_, counts in rows))


if __name__ == "__main__":
    given = sys.argv[2:]
    # Arguments from the first option on are for pytest.
    cut = next((at for at, each in enumerate(given) if each.startswith("-")), len(given))
    sys.exit(main(Path(sys.argv[1]), given[:cut], given[cut:]))
