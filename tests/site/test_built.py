"""The site builds in strict mode, loads nothing from the network, and fits a phone."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.components import skip_without
from tools.site.looks import main

ROOT = Path(__file__).parents[2]


@pytest.mark.soak(300)
def test_the_site(tmp_path):
    """One test, as the processes of a test run would build the site in the same folder."""
    done = subprocess.run(["make", "site"], capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S607 - make from the PATH
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / "build" / "site"
    nothing_is_fetched_from_elsewhere(site)
    parameters_have_their_own_texts_and_defaults(site)
    functions_are_shown_as_functions(site)
    inherited_methods_are_shown(site)
    every_link_leads_to_a_place(site)
    if shutil.which("chromium") is None:
        skip_without("chromium", "chromium is not installed (apt-get: chromium)")
    assert main(tmp_path, site=site) == [], "a page is wider than its window"


def nothing_is_fetched_from_elsewhere(site):
    fetched = re.compile(r"""<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="?https?:""")
    pages = [*site.rglob("*.html")]
    assert len(pages) > 100
    assert [page for page in pages if fetched.search(page.read_text("utf-8"))] == []


def parameters_have_their_own_texts_and_defaults(site):
    page = (site / "api" / "evenkey.groupings.html").read_text("utf-8")
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert re.search(r"old_share float Size of the old space .{,150} 0\.1 teenage_share", text)
    assert re.search(r"teenage_share float Size of the teenage space .{,40} 0\.4 baby_share", text)


def functions_are_shown_as_functions(site):
    for page in (site / "api").glob("evenkey*.html"):
        assert page.read_text("utf-8").count("doc-object doc-module") == 1, page.name


def inherited_methods_are_shown(site):
    page = (site / "api" / "evenkey.spark.html").read_text("utf-8")
    for name in ("agg", "count", "pivot", "transformWithState", "applyInPandasWithState"):
        assert f'id="evenkey.spark.Grouped.{name}"' in page
    assert 'id="evenkey.PipelineConfig.with_options"' in (site / "api" / "evenkey.html").read_text()


def every_link_leads_to_a_place(site):
    articles = {
        page: re.findall(r"<article.*?</article>", page.read_text("utf-8"), re.DOTALL)[0]
        for page in site.rglob("*.html")
    }
    places = {page: {*re.findall(r'\bid="([^"]+)"', text)} for page, text in articles.items()}
    lost = []
    for page, text in articles.items():
        for link in re.findall(r'<a\b[^>]*\bhref="(?!\w+:)([^"]+)"', text):
            path, _, anchor = html.unescape(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            if path.startswith("/"):
                continue  # of the page for wrong addresses
            if not target.exists() or (anchor and anchor not in places.get(target, {anchor})):
                lost.append(f"{page.relative_to(site)}: {link}")
    assert lost == []
