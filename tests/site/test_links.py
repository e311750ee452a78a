"""Links of pages: their targets, and labels that a reader understands."""

from __future__ import annotations

import re

import pytest

from tests.site.test_pages import PAGES
from tools.site.links import relinked

RECORD = "docs/decisions/120-stores.md"
HOMES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "docs/joins.md": "joins.md",
    "docs/kafka.md": "kafka.md",
    RECORD: "decisions/120-stores.md",
    "docs/decisions/121-hdfs.md": "decisions/121-hdfs.md",
    "examples/fold.py": "examples.md#fold",
    "examples/join.ipynb": "notebooks/join.md",
}
TITLES = {
    "CONTRIBUTING.md": "Contributing",
    "docs/joins.md": "Join a stream",
    RECORD: "120: Stores",
}
NAMES = {"evenkey.spark.route": "api/evenkey.spark.md#evenkey.spark.route"}


def page(text, file="docs/kafka.md"):
    return relinked(text, file, HOMES, TITLES, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nls [a](b) `docs/joins.md` decision 120\n```\n[a](#b)\n",
        "- a\n\n    ```yaml\n    # `docs/joins.md`, decision 120\n    ```\n",
        "`evenkey run` in ``docs/joins.md or `x` ``, decision 999",
        "`code over\ntwo lines` and `more\nof it`",
        "## As in decision 120 and `docs/joins.md`\n",
        "`docs/kafka.md` is this page",
        "![drawn](data:image/png;base64,AA==)",
    ],
)
def test_what_is_left_alone(text):
    assert page(text) == text


def test_a_label_that_is_the_name_of_the_file_becomes_the_title():
    assert page("[joins.md](joins.md#state)") == "[Join a stream](joins.md#state)"
    assert page("[docs/joins.md](docs/joins.md)", "README.md") == "[Join a stream](joins.md)"
    assert page("[the joins](joins.md)") == "[the joins](joins.md)"


def test_the_number_of_a_decision_says_what_it_is():
    link = "[120](decisions/120-stores.md)"
    named = "[decision 120](decisions/120-stores.md)"
    assert page(f"a, {link} to {link})") == f"a, {named} to {named})"
    assert page(f"It is. {link} says so") == f"It is. {named.replace('d', 'D', 1)} says so"
    for counted in (f"Decision {link} says", f"decisions {link}, {link}", f"| {link} | Stores |"):
        assert page(counted) == counted


def test_decisions_in_the_text_are_linked():
    assert page("(decision 120)") == "([decision 120](decisions/120-stores.md))"
    both = "Decisions [120](decisions/120-stores.md) to\n[121](decisions/121-hdfs.md)"
    assert page("Decisions 120 to\n121") == both
    assert page("decision 120, decision 121", RECORD).startswith("decision 120, [decision 121](121")


def test_pages_and_programs_in_code_font_are_linked():
    assert page("see `docs/joins.md`") == "see [Join a stream](joins.md)"
    assert page("`CONTRIBUTING.md`") == "[Contributing](contributing.md)"
    assert page("`examples/fold.py`") == "[`examples/fold.py`](examples.md#fold)"
    assert page("`docs/joins.md`", "CONTRIBUTING.md") == "[`docs/joins.md`](joins.md)"
    assert page("`docs/joins.md`", "examples/join.ipynb") == "[Join a stream](../joins.md)"


def test_public_names_in_code_font_are_linked():
    linked = "[`evenkey.spark.route`](api/evenkey.spark.md#evenkey.spark.route)"
    assert page("`evenkey.spark.route`, `evenkey.core`") == f"{linked}, `evenkey.core`"


def test_a_link_to_what_is_no_page_is_named():
    message = r"README\.md links to src/a\.py, which is not on the site: write it as code"
    with pytest.raises(ValueError, match=message):
        relinked("[code](src/a.py)", "README.md", {"README.md": "index.md"})


def test_no_page_has_a_label_that_is_the_name_of_a_file():
    found = {
        name: labels
        for name, text in PAGES.items()
        if (labels := re.findall(r"\[[\w/-]+\.md\]\([^)]+\)", text))
    }
    assert found == {}


def test_notebooks_lead_to_pages():
    for name in ("balanced", "compare_schemes", "moving_join"):
        _, _, steps = PAGES[f"notebooks/{name}.md"].rpartition("## Next steps")
        assert re.search(r"\]\(\.\./[\w-]+\.md\)", steps)
        assert "`docs/" not in steps
