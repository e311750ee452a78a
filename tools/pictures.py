"""Take all pictures of README and docs anew: python -m tools.pictures [NAME...].

Charts are drawn from stored results. A screenshot shows the page that its commands write: one of a
laptop and one of a phone, in docs/pictures. NAME chooses some of the screenshots. Needs Chromium,
and for the two dashboards Spark and a few minutes.

A picture of a laptop is as wide as the column of text that shows it, so that its text can be read.
It ends below the last card or section that fits into its height.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from evenkey.reports.dashboard import Server
from tools.chromium import SIZES, chromium
from tools.results.charts import CHARTS, FOLDER, draw
from tools.results.stored import ROOT, catalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Page

__all__ = ["PICTURES", "SCALE", "WIDTHS", "Picture", "ending", "main"]

WIDTHS = {"laptop": 860, "phone": 390}
"""Widths of windows, in CSS pixels."""
SCALE = 2
"""Pixels of a picture per CSS pixel."""
_COLOURS = 128
_MARGIN = 10
_ENDS = """[...document.querySelectorAll("article, section:not([hidden]), main > *")].filter(
  each => each.matches("article, section") || !each.nextElementSibling
    || each.nextElementSibling.matches("h2")
).map(each => Math.ceil(each.getBoundingClientRect().bottom + window.scrollY))"""
"""Where cards and sections of a page end, in CSS pixels from its top."""

_DRAWN = "section:not([hidden]) .main-svg"
_SETTLED_MS = 1000
_COMPARE = (
    "evenkey compare --dataset country-skew-r80 --groupings kg,dkg --workers 10 "
    "--messages 40000 --cost-ms 0.5 --epochs 16 --output out"
)
_JOIN = (
    "evenkey join run --pipeline sps --mode dynamic-lb-stal --skew 0.7 --publications 20000 "
    "--subscriptions 2000 --workers 8 --partitions 32 --polygon-share 0.3 --seconds 120 "
    "--epochs 12 --output joinrun"
)


class Picture(NamedTuple):
    """Screenshots of one page.

    Parameters
    ----------
    commands
        Command lines that write the page, in an empty directory.
    shows
        The page, or the output directory of a run, which the dashboard shows.
    heights
        Maximum height of the picture of a laptop and of a phone, in CSS pixels, from the top of the
        page.
    file
        A file of the repository that is copied into the directory first.
    """

    commands: tuple[str, ...]
    shows: str
    heights: tuple[int, int]
    file: str | None = None


PICTURES = {
    "advice": Picture(
        (
            "evenkey dataset write country-skew-r60 clicks.csv --messages 200000",
            "evenkey advise clicks.csv --key key --workers 8,16,32 --html advice.html",
        ),
        "advice.html",
        (2300, 2800),
    ),
    "diagnosis": Picture(
        ("evenkey diagnose apply-skewed.gz --page diagnosis.html",),
        "diagnosis.html",
        (1000, 1400),
        "tests/diagnosis/logs/apply-skewed.gz",
    ),
    "figure": Picture(
        ("evenkey experiment run dkg-figure-10 --output figures",),
        "figures/dkg-figure-10-quick.html",
        (1100, 2000),
    ),
    "dashboard": Picture(
        (_COMPARE,),
        "out",
        (4200, 2400),
    ),
    "dashboard-join": Picture(
        (_JOIN,),
        "joinrun",
        (3700, 2400),
    ),
}


def main(names: list[str]) -> None:
    """Draw the charts, and take the screenshots with these names, or all.

    Raises
    ------
    CalledProcessError
        A command failed.
    """
    results = catalog()
    for chart in CHARTS:
        draw(results[chart])
    for name in names or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            _take(name, PICTURES[name], Path(folder))


def _take(name: str, picture: Picture, folder: Path) -> None:
    if picture.file is not None:
        shutil.copy(ROOT / picture.file, folder)
    for command in picture.commands:
        words = [sys.executable, "-m", *shlex.split(command)]
        subprocess.run(words, cwd=folder, check=True)  # noqa: S603 - ours
    shown = folder / picture.shows
    with _served(shown) as address, chromium() as browser:
        for (size, width), height in zip(WIDTHS.items(), picture.heights, strict=True):
            page = browser.new_page(
                viewport={"width": width, "height": SIZES[size][1]}, device_scale_factor=SCALE
            )
            page.goto(address)
            if shown.is_dir():
                page.wait_for_selector(_DRAWN)
                page.wait_for_timeout(_SETTLED_MS)
            _photograph(page, width, height, FOLDER / f"{name}-{size}.png")
            page.close()


def _photograph(page: Page, width: int, height: int, picture: Path) -> None:
    """Write the upper part of a page as a picture of few colours, so that its file is small."""
    page.set_viewport_size({"width": width, "height": ending(page.evaluate(_ENDS), height)})
    page.wait_for_timeout(_SETTLED_MS)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    few = shot.quantize(_COLOURS, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


def ending(ends: Sequence[int], most: int) -> int:
    """Return where a picture ends: below the last card or section that fits into a height.

    Raises
    ------
    ValueError
        None fits.

    Examples
    --------
    >>> ending([300, 700, 1500], most=1000)
    710
    """
    fitting = [end + _MARGIN for end in ends if end + _MARGIN <= most]
    if not fitting:
        message = f"no card or section ends within {most} pixels"
        raise ValueError(message)
    return max(fitting)


@contextlib.contextmanager
def _served(shown: Path) -> Iterator[str]:
    """Yield the address of a page, or of the dashboard over a run."""
    if shown.is_file():
        yield shown.as_uri()
        return
    server = Server([shown], port=0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.close()
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
