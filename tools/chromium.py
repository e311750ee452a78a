"""The browser that takes screenshots of pages."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

__all__ = ["SIZES", "chromium"]

SIZES = {"laptop": (1366, 768), "phone": (390, 844)}
"""Width and height of screens, in CSS pixels."""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start the Chromium of this machine in headless mode; it is closed after the context."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()
