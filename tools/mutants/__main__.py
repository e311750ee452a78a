"""Try mutants of the package: ``python -m tools.mutants --seed N --count N [--room NAME]``.

Results are JSON lines, one a mutant, appended to a file; what stands there is not run again.
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

# One process computes at a time.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

ROOT = Path(__file__).parents[2]
KEYS = ("path", "line", "kind", "before", "after")


def main() -> None:
    """Draw mutants, room by room in turn, and try those that were not tried yet."""
    # Imported before any fork, so that no run pays for it.
    import numba  # noqa: F401
    import pandas as pd  # noqa: F401
    import pyarrow.compute as pc  # noqa: F401
    import pyspark.sql  # noqa: F401

    from tools.mutants.justified import justified
    from tools.mutants.rooms import ROOMS, sample
    from tools.mutants.trial import Copy

    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="mutants of all rooms together")
    parser.add_argument("--room", choices=[*ROOMS], action="append", help="all, if not given")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "mutants.jsonl")
    parser.add_argument("--quick", action="store_true", help="tests that name the module alone")
    parser.add_argument("--unchecked", action="store_true", help="do not run all without mutants")
    options = parser.parse_args()
    rooms = [ROOMS[name] for name in options.room or ROOMS]
    drawn = zip_longest(
        *([(room, each) for each in sample(ROOT, room, options.seed)] for room in rooms)
    )
    chosen = [pair for turn in drawn for pair in turn if pair is not None][: options.count]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    lines = options.output.read_text("utf-8").splitlines() if options.output.exists() else []
    known = {each["name"]: each for each in map(json.loads, lines)}
    if not options.quick:  # Then those go on that the quick way left.
        known = {
            name: each
            for name, each in known.items()
            if not (each["quick"] and each["fate"] == "survived")
        }
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        copy, checked = Copy(ROOT, Path(place)), set[str]()
        for room, mutant in chosen:
            if mutant.name in known:
                continue
            if not options.unchecked and room.name not in checked:
                checked.add(room.name)
                _say(f"{room.name}: the tests pass unchanged, in {copy.check(room):.0f} s")
            fate = copy.try_one(mutant, room, quick=options.quick)
            fields = {name: value for name, value in asdict(mutant).items() if name in KEYS}
            fields |= {"name": mutant.name, "room": room.name, "quick": options.quick}
            known[mutant.name] = fields | asdict(fate)
            with options.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[mutant.name]) + "\n")
            _say(
                f"{fate.fate:9}{mutant.path}:{mutant.line} {mutant.kind}: {mutant.after} {fate.by}"
            )
    spared, fates = justified(ROOT), Counter[tuple[str, str]]()
    for room, mutant in chosen:
        fate_name = known[mutant.name]["fate"]
        if fate_name == "survived" and mutant.change in spared:
            fate_name = "justified"
        fates[room.name, fate_name] += 1
    for (room_name, fate_name), count in sorted(fates.items()):
        _say(f"{room_name:14}{fate_name:10}{count:6}")


def _say(line: str) -> None:
    print(" ".join(line.split("\n")), file=sys.stdout, flush=True)  # noqa: T201 - what it is for


if __name__ == "__main__":
    main()
