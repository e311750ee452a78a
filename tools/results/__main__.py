"""Run, write and check stored results: ``python -m tools.results run NAME | write | check``."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tools.compare.case import versions
from tools.compare.load import Guard
from tools.compare.record import hardware
from tools.compare.sides import source_of
from tools.results.charts import CHARTS, digest, draw, drawn_from, pictures_of
from tools.results.pages import figures, pages, write
from tools.results.stored import ROOT, catalog
from tools.results.unmarked import unmarked

if TYPE_CHECKING:
    from tools.results.stored import Entry


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.results", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run_command = commands.add_parser("run", help="run the command of a result and store it")
    run_command.add_argument("name", choices=sorted(catalog()))
    run_command.add_argument(
        "--loaded", action="store_true", help="measure on a loaded machine too"
    )
    commands.add_parser("write", help="write figures into the pages, and draw the charts")
    commands.add_parser("check", help="report what differs from its result")
    given = parser.parse_args(arguments)
    if given.command == "run":
        run(catalog()[given.name], loaded=given.loaded)
        return 0
    if given.command == "write":
        results = catalog()
        for page in pages():
            write(page, results)
        for name in CHARTS:
            if results[name].is_stored:
                draw(results[name])
        return 0
    wrong = [*differences(), *unmarked()]
    for line in [*wrong, *outdated()]:
        sys.stdout.write(f"{line}\n")
    return 1 if wrong else 0


def run(entry: Entry, *, loaded: bool) -> None:
    """Run the command of a result, and store what it prints.

    The machine must be idle unless the result is deterministic.

    Raises
    ------
    LoadedError
        The machine is loaded.
    CalledProcessError
        The command failed.
    """
    Guard(60, loaded=loaded or entry.deterministic).check(start=True)
    started, source = datetime.now(UTC), source_of(ROOT)
    stored = {
        "command": entry.command,
        "commit": source.commit,
        "dirty": source.dirty,
        "date": started.date().isoformat(),
        "versions": versions(),
        "hardware": hardware(),
        "printed": entry.printed(),
    }
    entry.file.parent.mkdir(exist_ok=True)
    entry.file.write_text(f"{json.dumps(stored, indent=1)}\n", "utf-8")


def differences() -> list[str]:
    """List figures of pages and charts that differ from their results."""
    results = catalog()
    wrong = [
        f"{each.page}: {each.text} should be {each.wanted or 'measured'}: {each.comment}"
        for page in pages()
        for each in figures(page, results)
        if each.text != each.wanted
    ]
    for name in CHARTS:
        wrong += [
            f"{picture.relative_to(ROOT)}: was drawn from another result"
            for picture in pictures_of(name).values()
            if results[name].is_stored and drawn_from(picture) != digest(results[name])
        ]
    return wrong


def outdated() -> list[str]:
    """List results that were never stored, were run with uncommitted changes, or are outdated."""
    lines = []
    for name, entry in catalog().items():
        if not entry.is_stored:
            lines.append(f"{name}: was never run")
            continue
        if entry.is_dirty:
            lines.append(f"{name}: was run with uncommitted changes")
        if changed := entry.changed_since():
            lines.append(f"{name}: {len(changed)} files have changed since, such as {changed[0]}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
