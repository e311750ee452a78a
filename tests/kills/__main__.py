"""Kill runs until a number of kills have hit: ``python -m tests.kills --kills 100 --seed 1``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from tests.kills.play import play
from tests.kills.schedule import run_of
from tests.kills.summary import kills_of, summary


def main() -> int:
    """Play runs one after the other; print a JSON line per kill and run, then a table.

    The records are appended to ``records.jsonl`` in the directory; runs that it has already are
    not played again. Directories of runs with faults are kept.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=main.__doc__)
    parser.add_argument("--kills", type=int, default=100, help="kills that must hit")
    parser.add_argument("--seed", type=int, default=1, help="of the schedule")
    parser.add_argument("--run", type=int, help="play this run alone")
    parser.add_argument("--minutes", type=float, help="begin no run after so many minutes")
    parser.add_argument("--directory", type=Path, default=Path("build/kills"))
    given = parser.parse_args()
    directory = given.directory / f"seed-{given.seed}"
    if given.run is not None:
        records: list[dict[str, Any]] = []
        _play(given.seed, given.run, directory, records)
    else:
        records = _go_on(given.seed, given.kills, given.minutes, directory)
    print(summary(records))  # noqa: T201 - what it is for
    return int(any(record.get("faults") for record in records if "subject" in record))


def _go_on(seed: int, kills: int, minutes: float | None, directory: Path) -> list[dict[str, Any]]:
    began = time.monotonic()
    file = directory / "records.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    records = [json.loads(line) for line in lines]
    number = sum("subject" in record for record in records)
    # An interrupted run is played again from its start.
    records = [record for record in records if record["run"] < number]
    while kills_of(records) < kills:
        if minutes is not None and time.monotonic() - began > 60 * minutes:
            break
        _play(seed, number, directory, records)
        file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        number += 1
    return records


def _play(seed: int, number: int, directory: Path, records: list[dict[str, Any]]) -> None:
    def tell(record: dict[str, Any]) -> None:
        print(json.dumps(record), flush=True)  # noqa: T201 - what it is for
        records.append(record)

    place = (directory / f"run-{number:04d}").absolute()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    record = play(run_of(seed, number), place, tell)
    tell(record)
    if not record["faults"]:
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())
