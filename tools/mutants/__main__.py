"""Try mutants of the package: ``python -m tools.mutants --seed N --count N [--subpackage NAME]``.

A mutant is the package with one small wrong change; a test that fails kills it. With ``--fast``,
five mutants of each subpackage run against the fast tests only, and the exit code is 1 if these
kill fewer than four fifths of those of any subpackage. Results are JSON lines, one per mutant,
which are appended to a file; mutants with a line in it are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Only one process at a time should compute, so libraries must not start threads.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

if TYPE_CHECKING:
    from tools.mutants.mutations import Mutant
    from tools.mutants.subpackages import Subpackage
    from tools.mutants.trial import Copy

ROOT = Path(__file__).parents[2]
KEYS = ("path", "line", "kind", "before", "after")


def main() -> int:
    """Draw mutants from all subpackages in turn, and try those without a result."""
    # Imported before any fork, so that no run has to import them.
    import numba  # noqa: F401
    import pandas as pd  # noqa: F401
    import pyarrow.compute as pc  # noqa: F401
    import pyspark.sql  # noqa: F401

    from tools.mutants.justified import justified
    from tools.mutants.results import EACH, table
    from tools.mutants.subpackages import draw, sample, subpackages
    from tools.mutants.trial import Copy

    every = subpackages(ROOT)
    options = _options([*every])
    asked = [every[name] for name in options.subpackage or every]
    spared = justified(ROOT)
    if options.fast:
        drawn = [draw(ROOT, each, options.seed, EACH, spared) for each in asked]
    else:
        drawn = [sample(ROOT, each, options.seed) for each in asked]
    rounds = zip_longest(*([(one, m) for m in of] for one, of in zip(asked, drawn, strict=True)))
    chosen = [pair for each in rounds for pair in each if pair is not None]
    if not options.fast:
        chosen = chosen[: options.count]
    name = "fast-mutants.jsonl" if options.fast else "mutants.jsonl"
    output: Path = options.output or ROOT / "build" / name
    known = _known(output)
    if not options.quick:  # Survivors of a quick run have not met all tests: try them again.
        known = {
            name: each
            for name, each in known.items()
            if not (each["fate"] == "survived" and (each["quick"] or options.again))
        }
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        copy, checked = Copy(ROOT, Path(place)), set[str]()
        for subpackage, mutant in chosen:
            if mutant.name in known:
                continue
            if not (options.unchecked or options.fast) and subpackage.name not in checked:
                checked.add(subpackage.name)
                seconds = copy.check(subpackage)
                _say(f"{subpackage.name}: the tests pass unchanged, in {seconds:.0f} s")
            known[mutant.name] = _tried(copy, mutant, subpackage, options)
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[mutant.name]) + "\n")
        for broken in sorted(copy.broken):
            _say(f"not used, because it fails without a mutant too: {broken}")
    fates = {each.name: Counter[str]() for each in asked}
    for subpackage, mutant in chosen:
        fate = known[mutant.name]["fate"]
        is_spared = fate == "survived" and mutant.change in spared
        fates[subpackage.name]["justified" if is_spared else fate] += 1
    lines, enough = table(fates, fast=options.fast)
    for line in lines:
        _say(line)
    return 0 if enough else 1


def _options(names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="number of mutants altogether")
    parser.add_argument("--subpackage", choices=names, action="append", help="default: all")
    parser.add_argument("--fast", action="store_true", help="only fast tests; five mutants of each")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--quick", action="store_true", help="only tests that name the module")
    parser.add_argument("--unchecked", action="store_true", help="skip the run without a mutant")
    return parser.parse_args()


def _known(output: Path) -> dict[str, dict[str, Any]]:
    """Read the results, by the name of the mutant; the last line of a mutant counts."""
    output.parent.mkdir(parents=True, exist_ok=True)
    lines = output.read_text("utf-8").splitlines() if output.exists() else []
    return {each["name"]: each for each in map(json.loads, lines)}


def _tried(
    copy: Copy, mutant: Mutant, subpackage: Subpackage, options: argparse.Namespace
) -> dict[str, Any]:
    """Try a mutant, print the outcome, and return its line of the results."""
    if options.fast:
        fate = copy.try_fast(mutant, subpackage)
    else:
        fate = copy.try_one(mutant, subpackage, quick=options.quick)
    _say(
        f"{fate.fate:9}{mutant.path}:{mutant.line} {mutant.kind}: {mutant.after} "
        f"{fate.by} {fate.seconds:.0f} s"
    )
    fields = {name: value for name, value in asdict(mutant).items() if name in KEYS}
    fields |= {"name": mutant.name, "subpackage": subpackage.name, "quick": options.quick}
    return fields | asdict(fate)


def _say(line: str) -> None:
    print(" ".join(line.split("\n")), file=sys.stdout, flush=True)  # noqa: T201 - what it is for


if __name__ == "__main__":
    sys.exit(main())
