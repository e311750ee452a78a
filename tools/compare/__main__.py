"""Compare two commits, or two ways: ``python -m tools.compare [--commit X] [--commit Y] -- CASE``.

With two commits the case runs with the package of each; "." is the working tree. With two cases
both run with the package of the working tree, or of the one commit. Each round runs A, then A again
as a control, and B, in random order. B differs from A if all ratios of B to A lie outside the
range of the ratios of A to itself. The result is a JSON file in build/compare.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TextIO

from tools.compare.case import Case
from tools.compare.load import Guard, LoadedError
from tools.compare.measure import measure
from tools.compare.record import record_of
from tools.compare.sides import WORKING_TREE, Side, run_cases, source_of

ROOT = Path(__file__).parents[2]
LEAST_ROUNDS = 3


def main(arguments: list[str] | None = None, guard: Guard | None = None) -> int:
    """Measure, print the verdict and store the result; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--commit", action="append", default=[], help='commit, or "."')
    parser.add_argument("--rounds", type=int, default=6, help=f"at least {LEAST_ROUNDS}")
    parser.add_argument("--warm-ups", type=int, default=1, help="untimed runs of each case first")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order in each round")
    parser.add_argument(
        "--patience", type=float, default=60, help="seconds to wait for an idle CPU"
    )
    parser.add_argument("--loaded", action="store_true", help="measure on a loaded machine too")
    parser.add_argument("--output", type=Path, help="file of the result")
    parser.add_argument(
        "cases", nargs="+", metavar="CASE", help="NAME in benchmarks/cases.py, or FILE.py:NAME"
    )
    given = parser.parse_args(arguments)
    try:
        first, second = _sides(given.commit, given.cases)
    except ValueError as error:
        parser.error(str(error))
    if given.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds {given.rounds}: there must be at least {LEAST_ROUNDS}")
    started = datetime.now(UTC)
    try:
        rounds = measure(
            first,
            second,
            partial(run_cases, ROOT, warm_ups=given.warm_ups),
            guard or Guard(given.patience, loaded=given.loaded),
            rounds=given.rounds,
            seed=given.seed,
            report=partial(_say, to=sys.stderr),
        )
    except LoadedError as error:
        _say(f"error: {error}", to=sys.stderr)
        return 2
    verdict, record = record_of(first, second, rounds, source_of(ROOT))
    typed = shlex.join(sys.argv[1:] if arguments is None else arguments)
    asked = {"command": f"python -m tools.compare {typed}", "started": started.isoformat()}
    options = {name: getattr(given, name) for name in ("warm_ups", "seed", "loaded")}
    name = f"{started:%Y%m%dT%H%M%S}-{first.case.name}-{second.case.name}.json"
    output: Path = given.output or ROOT / "build" / "compare" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(asked | options | record, indent=2) + "\n", "utf-8")
    _say(f"{verdict}\n{output}", to=sys.stdout)
    return 0


def _sides(commits: list[str], spelled: list[str]) -> tuple[Side, Side]:
    cases = [Case.parse(each) for each in spelled]
    if (len(commits), len(cases)) not in {(2, 1), (0, 2), (1, 2)}:
        message = "give two commits and one case, or two cases and at most one commit"
        raise ValueError(message)
    sources = [source_of(ROOT, each) for each in commits or [WORKING_TREE]]
    return Side(sources[0], cases[0]), Side(sources[-1], cases[-1])


def _say(line: str, to: TextIO) -> None:
    to.write(f"{line}\n")
    to.flush()


if __name__ == "__main__":
    sys.exit(main())
