"""Photograph a page that a command wrote: python -m tools.page_picture PAGE PICTURE [HEIGHT].

As a laptop shows it, from the top, as high as the window or as given in CSS pixels. Needs chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.chromium import SIZES, chromium

__all__ = ["main"]


def main(page: Path, picture: Path, height: int | None = None) -> None:
    """Write the picture of the page."""
    width, usual = SIZES["laptop"]
    with chromium() as browser:
        window = browser.new_page(viewport={"width": width, "height": height or usual})
        window.goto(page.resolve().as_uri())
        window.wait_for_timeout(1000)
        window.screenshot(path=picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
