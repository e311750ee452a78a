"""The pages of the site, before they are built."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from evenkey.pipeline.aggregate import PipelineConfig
from tools.site.commands import leaves
from tools.site.modules import MODULES
from tools.site.tree import ROOT, pages

PAGES = pages()  # raises for links without a target


class Settings(yaml.SafeLoader):
    """Loads mkdocs.yml, which names a Python function and a variable of the environment."""


Settings.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
Settings.add_constructor("!ENV", lambda *_: None)
SETTINGS = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Settings)  # noqa: S506 - ours


def in_nav(part, label=None):
    """Give each page of the navigation with its label, which is None if it has none."""
    if isinstance(part, str):
        return [(part, label)]
    children = part.items() if isinstance(part, dict) else [(None, each) for each in part]
    return [found for label, child in children for found in in_nav(child, label)]


NAV = in_nav(SETTINGS["nav"])


def title(page):
    return next(line[2:] for line in PAGES[page].splitlines() if line.startswith("# "))


def test_every_page_but_single_decisions_is_in_the_navigation_once():
    shown = [page for page, _ in NAV]
    assert len(shown) == len({*shown})
    assert {*shown} == {page for page in PAGES if not page.startswith("decisions/")}


def test_the_navigation_shows_titles_of_pages():
    assert [each for each in NAV if each[1] not in (None, title(each[0]))] == []
    titles = [title(page) for page, _ in NAV if page != "index.md"]
    assert len(titles) == len({*titles})


def test_decisions_are_listed_and_not_searched():
    files = (ROOT / "docs" / "decisions").rglob("*-*.md")
    shown = {path for path in PAGES if path.startswith("decisions/")}
    assert shown == {file.relative_to(ROOT / "docs").as_posix() for file in files}
    assert {*re.findall(r"^\| \[\d+\]\((.+?)\)", PAGES["decisions.md"], re.MULTILINE)} == shown
    hidden = "---\nsearch:\n  exclude: true\n---\n\n# "
    assert {path for path, text in PAGES.items() if text.startswith(hidden)} == shown


def test_the_page_on_exactness_names_existing_tests():
    named = re.findall(r"`(\w+/test_\w+\.py)`", PAGES["exactness.md"])
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


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


def test_the_configuration_file_that_is_shown_can_be_read(tmp_path):
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGES["commands.md"], re.DOTALL)
    file = tmp_path / "pipeline.toml"
    file.write_text(shown, "utf-8")
    read = PipelineConfig.read(file, workers="20")
    assert (read.grouping, read.workers, read.cost_ms) == ("planned", 20, 1)


def test_notebooks_show_what_they_print():
    for file in (ROOT / "examples").glob("*.ipynb"):
        page = PAGES[f"notebooks/{file.stem}.md"]
        for cell in json.loads(file.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                assert "".join(output.get("text", "")).rstrip() in page


def test_examples_of_commands_are_blocks():
    assert "```sh\nevenkey run --input clicks.csv" in PAGES["commands.md"]
    assert "Example:" not in PAGES["commands.md"]
    words = re.sub(r"```.*?```|`[^`]*`", "", PAGES["commands.md"], flags=re.DOTALL)
    assert re.findall(r"--\w\S*", words) == []


def test_arguments_come_before_options():
    for section in PAGES["commands.md"].split("\n## ")[2:]:
        assert "**Arguments**" not in section.partition("| option |")[2], section.partition("\n")[0]
        assert section.count("| argument |") == section.count("**Arguments**")


def test_every_default_is_named():
    for name, command in leaves():
        _, _, section = PAGES["commands.md"].partition(f"\n## {name}\n")
        for each in command.params:
            if each.param_type_name == "option" and each.show_default and each.default:
                (row,) = re.findall(
                    rf"^\| `{each.opts[0]}\b.*", section.partition("\n## ")[0], re.MULTILINE
                )
                assert re.search("[Dd]efault", row), (name, each.opts)


def test_a_name_is_documented_where_it_is_defined_if_a_file_has_its_name():
    for page in ("api/evenkey.md", "api/evenkey.aggregators.md"):
        assert "\n::: evenkey.aggregators.functions.fold\n" in PAGES[page]


def test_examples_of_every_module_begin_with_named_lines():
    import importlib

    for module in MODULES:
        shown = (importlib.import_module(module).__doc__ or "") + PAGES[f"api/{module}.md"]
        assert shown.count("Examples of this module begin with these lines") == 1
        assert f"from {module} import *" in shown


def test_the_first_program_is_the_simplest():
    headings = re.findall(r"^## (.+?) \{: #([\w-]+) \}$", PAGES["examples.md"], re.MULTILINE)
    assert headings[0][1] == "word_count"
    programs = {file.stem for file in (ROOT / "examples").glob("*.py")} - {"demo"}
    assert {anchor for _, anchor in headings} == programs | {"diagnose-action"}
    for title, _ in headings:
        assert PAGES["examples.md"].count(title) == 1
