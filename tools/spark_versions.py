"""Run the tests of operators and joins on several versions of Spark, and in another time zone.

``python tools/spark_versions.py build/spark-versions 4.1 4.2 4.3``: each has an environment in a
directory of its name. Prints how many tests passed, side by side; exit code 1 where one failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDERS = ("tests/spark", "tests/joins")
ZONES = ("UTC", "America/St_Johns")  # the second is 3:30 behind, in summer 2:30
# Spark 4.1 leaves sockets open, which it used to give rows to the driver.
_LEFT_OPEN = ("-Wignore::ResourceWarning", "-Wignore::pytest.PytestUnraisableExceptionWarning")
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)")


def run(environment: Path, zone: str, tests: list[str]) -> dict[str, int]:
    """Run tests in an environment, print what did not pass, and count how they ended."""
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
    """Print a row for each version, zone and folder."""
    rows = [
        (version, zone, folder, run(home / version, zone, [*options, folder]))
        for version in versions
        for zone in ZONES
        for folder in FOLDERS
    ]
    kinds = ("passed", "skipped", "failed", "error")
    print(f"{'Spark':<7}{'zone':<18}{'tests':<13}", *(f"{kind:>8}" for kind in kinds))
    for version, zone, folder, counts in rows:
        cells = (f"{counts.get(kind, 0):>8}" for kind in kinds)
        print(f"{version:<7}{zone:<18}{folder:<13}", *cells)
    return int(any(counts.get("failed") or counts.get("error") for *_, counts in rows))


if __name__ == "__main__":
    given = sys.argv[2:]
    # What follows the versions goes to pytest.
    cut = next((at for at, each in enumerate(given) if each.startswith("-")), len(given))
    sys.exit(main(Path(sys.argv[1]), given[:cut], given[cut:]))
