"""Put results of experiments into the chapter: python -m tools.reproduction [RESULTS COMMIT].

RESULTS is the folder that ``evenkey experiment run --output`` wrote, COMMIT the commit with which
it ran. Without arguments the pages are written from earlier results, and those pictures are drawn
again that show nothing but what their tables have.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.reproduction.pages import pages
from tools.reproduction.records import FOLDER, ROOT, RUNS, records, scenarios_of
from tools.reproduction.redrawn import KINDS, files, standalone

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["archive", "known_commit", "main", "outcomes", "pictures_of", "shown_in", "take_over"]

_ARCHIVE = ROOT / "build" / "results.zip"
_AGES_AGO = (1980, 1, 1, 0, 0, 0)


def main(arguments: list[str]) -> None:
    """Store the results, if they are given, then write all pages."""
    if arguments:
        results, commit = Path(arguments[0]), known_commit(arguments[1])
        found = outcomes(results)
        for file, given in found.items():
            take_over(file, given, commit)
        sys.stdout.write(f"results: {archive(results, _ARCHIVE)}\n")
    for record in records():
        for name, document in files(record).items():
            (FOLDER / name).write_text(document, "utf-8")
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text, "utf-8")


def outcomes(results: Path) -> dict[Path, dict[str, Any]]:
    """Read the outcomes of all experiments in a folder.

    Raises
    ------
    ValueError
        There is no outcome, or an experiment has several, such as at two scales.
    """
    found: dict[Path, dict[str, Any]] = {}
    files: dict[str, Path] = {}
    for file in sorted(results.glob("*-*.json")):
        found[file] = json.loads(file.read_text("utf-8"))
        name = found[file]["experiment"]
        if name in files:
            message = (
                f"{results}: {files[name].name} and {file.name} are of one experiment; keep one"
            )
            raise ValueError(message)
        files[name] = file
    if not found:
        message = f"{results}: there are no results of evenkey experiment run"
        raise ValueError(message)
    return found


def known_commit(name: str) -> str:
    """Return the short hash of a commit of this repository.

    Raises
    ------
    ValueError
        The repository has no such commit.
    """
    asked = ["git", "rev-parse", "--verify", "--quiet", "--short", f"{name}^{{commit}}"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    if done.returncode:
        message = f"COMMIT = {name!r}: there is no such commit here; pass the one of the results"
        raise ValueError(message)
    return done.stdout.strip()


def take_over(file: Path, given: dict[str, Any], commit: str) -> None:
    """Store an outcome in the chapter's folder, with the plots of its page."""
    for table in given["tables"]:
        del table["rows"]  # the shown cells are enough here; the archive has all digits
    del given["findings"]  # the pages judge again, by the present register
    kept = FOLDER / f"{given['experiment']}.json"
    kept.write_text(json.dumps({**given, "commit": commit}, indent=1) + "\n", "utf-8")
    for old in pictures_of(given["experiment"]):
        old.unlink()
    page = file.with_suffix(".html").read_text("utf-8")
    for kind, drawn in shown_in(page).items():
        for number, plot in enumerate(drawn, 1):
            name = f"{given['experiment']}-{number}-{kind}.svg"
            (FOLDER / name).write_text(standalone(plot), "utf-8")
    runs = tomllib.loads(RUNS.read_text("utf-8"))
    runs[given["experiment"]] = {"scenarios": scenarios_of(given)}
    RUNS.write_text(_written(runs), "utf-8")


def shown_in(page: str) -> dict[str, list[str]]:
    """Return the plots on an experiment's page as SVG elements, for laptops and for phones."""
    return {
        kind: re.findall(rf'<div class="{place}">(<svg.*?</svg>)\s*</div>', page, re.DOTALL)
        for kind, place in zip(KINDS, ("wide", "narrow"), strict=True)
    }


def pictures_of(experiment: str) -> Iterable[Path]:
    """Return the files with the plots of an experiment."""
    yield from FOLDER.glob(f"{experiment}-[0-9].png")
    for kind in KINDS:
        yield from FOLDER.glob(f"{experiment}-[0-9]-{kind}.svg")


def _written(runs: dict[str, dict[str, str]]) -> str:
    """Write tables of texts as TOML, below the comment of the file."""
    comment = RUNS.read_text("utf-8").partition("[")[0]
    parts = [
        "\n".join(
            [f"[{name}]", *(f"{key} = {json.dumps(text)}" for key, text in entry.items()), ""]
        )
        for name, entry in runs.items()
    ]
    return comment + "\n".join(parts)


def archive(results: Path, file: Path) -> Path:
    """Put all results, with their tables, into one zip; the same results give the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as held:
        for each in sorted([*results.glob("*.json"), *results.glob("results/*.parquet")]):
            entry = zipfile.ZipInfo(each.relative_to(results).as_posix(), _AGES_AGO)
            held.writestr(entry, each.read_bytes(), zipfile.ZIP_DEFLATED)
    return file


if __name__ == "__main__":
    main(sys.argv[1:])
