"""Take over results into the chapter: python -m tools.reproduction [RESULTS COMMIT].

RESULTS is the folder that ``evenkey experiment run --output`` wrote, COMMIT what it was made by.
Pictures need chromium. Without arguments the pages alone are written anew.
"""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.reproduction.pages import pages
from tools.reproduction.records import FOLDER, ROOT

__all__ = ["archive", "main", "take_over"]

_WIDTH, _HEIGHT = 1000, 900
_ARCHIVE = ROOT / "build" / "results.zip"
_AGES_AGO = (1980, 1, 1, 0, 0, 0)


def main(arguments: list[str]) -> None:
    """Take over what there is, then write all pages."""
    if arguments:
        results, commit = arguments
        for file in sorted(Path(results).glob("*-*.json")):
            take_over(file, commit)
        sys.stdout.write(f"results: {archive(Path(results), _ARCHIVE)}\n")
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text, "utf-8")


def take_over(file: Path, commit: str) -> None:
    """Keep an outcome, and photograph its plots."""
    given = json.loads(file.read_text("utf-8"))
    for table in given["tables"]:
        del table["rows"]  # what is shown is enough here; all digits are in the archive
    kept = FOLDER / f"{given['experiment']}.json"
    kept.write_text(json.dumps({**given, "commit": commit}, indent=1) + "\n", "utf-8")
    for old in FOLDER.glob(f"{given['experiment']}-[0-9].png"):
        old.unlink()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        window = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        window.goto(file.with_suffix(".html").resolve().as_uri())
        window.wait_for_timeout(1000)
        for number, plot in enumerate(window.query_selector_all(".js-plotly-plot"), 1):
            plot.screenshot(path=FOLDER / f"{given['experiment']}-{number}.png")
        browser.close()


def archive(results: Path, file: Path) -> Path:
    """Put all results, with their tables, into one file; the same results give the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as held:
        for each in sorted([*results.glob("*.json"), *results.glob("results/*.parquet")]):
            entry = zipfile.ZipInfo(each.relative_to(results).as_posix(), _AGES_AGO)
            held.writestr(entry, each.read_bytes(), zipfile.ZIP_DEFLATED)
    return file


if __name__ == "__main__":
    main(sys.argv[1:])
