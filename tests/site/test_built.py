"""The site builds in strict mode, loads nothing from the network, and fits a phone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.components import skip_without
from tools.site.looks import main

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_the_site(tmp_path):
    """One test, as the processes of a test run would build the site in the same folder."""
    done = subprocess.run(["make", "site"], capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S607 - make from the PATH
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / "build" / "site"
    nothing_is_fetched_from_elsewhere(site)
    parameters_that_share_a_text_have_their_own_defaults(site)
    if shutil.which("chromium") is None:
        skip_without("chromium", "chromium is not installed (apt-get: chromium)")
    assert main(tmp_path, site=site) == [], "a page is wider than its window"


def nothing_is_fetched_from_elsewhere(site):
    fetched = re.compile(r"""<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="?https?:""")
    pages = [*site.rglob("*.html")]
    assert len(pages) > 100
    assert [page for page in pages if fetched.search(page.read_text("utf-8"))] == []


def parameters_that_share_a_text_have_their_own_defaults(site):
    page = (site / "api" / "evenkey.groupings.html").read_text("utf-8")
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    shared = r"Size of each space as a share of expected_keys ; the three shares add up to 1\."
    assert re.search(rf"teenage_share float {shared} 0\.4 ", text)
