"""The pages of the site, before they are built."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from tools.site.commands import leaves
from tools.site.links import relinked
from tools.site.modules import MODULES
from tools.site.tree import ROOT, pages

PAGES = pages()  # raises for links without a target


class Settings(yaml.SafeLoader):
    """Loads mkdocs.yml, which names a Python function."""


Settings.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
SETTINGS = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Settings)  # noqa: S506 - ours


def in_nav(part):
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [page for each in parts for page in in_nav(each)]


def test_every_page_is_in_the_navigation_once_but_single_decisions_and_results():
    shown = in_nav(SETTINGS["nav"])
    assert len(shown) == len({*shown})
    assert {*shown} == {page for page in PAGES if not re.match(r"(decisions|reproduction)/", page)}


def test_decisions_are_listed():
    files = (ROOT / "docs" / "decisions").rglob("*-*.md")
    shown = {path for path in PAGES if path.startswith("decisions/")}
    assert shown == {file.relative_to(ROOT / "docs").as_posix() for file in files}
    assert {*re.findall(r"^\| \[\d+\]\((.+?)\)", PAGES["decisions.md"], re.MULTILINE)} == shown


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_heading(module):
    import importlib

    named = re.findall(
        rf"^::: {re.escape(module)}\.(\S+)$", PAGES[f"api/{module}.md"], re.MULTILINE
    )
    assert {path.split(".")[-1] for path in named} == {*importlib.import_module(module).__all__}


def test_every_command_and_option_is_described():
    for name, command in leaves():
        (section,) = re.findall(
            rf"^## {name}$(.*?)(?=^## |\Z)", PAGES["commands.md"], re.MULTILINE | re.DOTALL
        )
        rows = re.findall(r"^\| `(.+?)` \| (.*) \|$", section, re.MULTILINE)
        assert len(rows) == len(command.params)
        for each in command.params:
            said = [text for shown, text in rows if shown.split()[0].strip(",") in each.opts]
            assert said == [""] or all(said), each.opts


def test_notebooks_show_what_they_print():
    for file in (ROOT / "examples").glob("*.ipynb"):
        page = PAGES[f"notebooks/{file.stem}.md"]
        for cell in json.loads(file.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                assert "".join(output.get("text", "")).rstrip() in page


def test_links_in_fences_are_left_alone():
    text = "```sh\nls [a](b)\n```\n[a](#b)\n"
    assert relinked(text, "README.md", {"README.md": "index.md"}) == text


def test_a_link_to_what_is_no_page_is_named():
    message = r"README\.md links to src/a\.py, which is not on the site: write it as code"
    with pytest.raises(ValueError, match=message):
        relinked("[code](src/a.py)", "README.md", {"README.md": "index.md"})
