"""Take a screenshot of an HTML page: python -m tools.page_picture PAGE PICTURE [HEIGHT].

The picture shows the top of the page at the width of a laptop. HEIGHT is in CSS pixels; by default
it is the height of a laptop. Needs Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.chromium import SIZES, chromium

__all__ = ["main"]


def main(page: Path, picture: Path, height: int | None = None) -> None:
    """Write the screenshot of the page."""
    width, usual = SIZES["laptop"]
    with chromium() as browser:
        window = browser.new_page(viewport={"width": width, "height": height or usual})
        window.goto(page.resolve().as_uri())
        window.screenshot(path=picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
