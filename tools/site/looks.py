"""Take screenshots of pages of the site: python -m tools.site.looks DIRECTORY [PAGE...].

Without names of pages, all are shown but single decision records. Each page is shown at the size of
a laptop and of a phone, light and dark. Needs Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from tools.chromium import SIZES, chromium

__all__ = ["built", "main"]

SITE = Path("build/site")
FEW = (
    *("index", "start", "should-i", "gallery", "operators", "groupings", "keyed-state"),
    *("api/evenkey.spark", "commands", "benchmarks"),
)
_CUT_OFF = """[...document.querySelectorAll(".md-typeset table")].some(
  each => each.scrollWidth > each.clientWidth + 1)"""
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def built(site: Path = SITE) -> tuple[str, ...]:
    """List the pages of a site, without single decision records."""
    pages = sorted(each.relative_to(site).with_suffix("") for each in site.rglob("*.html"))
    return tuple(each.as_posix() for each in pages if each.parts[0] != "decisions")


def main(directory: Path, pages: tuple[str, ...] = FEW, site: Path = SITE) -> list[str]:
    """Write the screenshots, and return pages wider than their window.

    So are pages with a table that a laptop's window cuts off; on a phone, tables are scrolled.
    """
    directory.mkdir(parents=True, exist_ok=True)
    wide = []
    with chromium() as browser:
        for name, (width, height) in SIZES.items():
            for scheme in _SCHEMES:
                page = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                for each in pages:
                    page.goto((site / f"{each}.html").resolve().as_uri())
                    page.wait_for_timeout(300)
                    if page.evaluate("document.documentElement.scrollWidth") > width:
                        wide.append(f"{each} at {width}")
                    if name == "laptop" and page.evaluate(_CUT_OFF):
                        wide.append(f"{each} at {width}, a table")
                    file = f"{each.replace('/', '-')}-{name}-{scheme}.png"
                    page.screenshot(path=directory / file)
                page.close()
    return sorted(set(wide))


if __name__ == "__main__":
    for line in main(Path(sys.argv[1]), tuple(sys.argv[2:]) or built()):
        sys.stdout.write(f"wider than its window: {line}\n")
