"""Every block of code in README and docs is run, or listed with its reason."""

from __future__ import annotations

import re
import shlex

import pytest
import typer

from evenkey.cli import app
from tests.snippets.blocks import NOT_RUN, ROOT, blocks

ASKED = re.compile(r"""snippets\(\s*"([^"]+)",\s*"(\w+)"\s*\)""")


def test_every_block_is_run_or_listed():
    asked = {
        (page, language)
        for file in (ROOT / "tests").rglob("test_*.py")
        for page, language in ASKED.findall(file.read_text("utf-8"))
    }
    run = {(each.page, each.language) for each in blocks() if each.reason is None}
    assert run == asked


def test_every_reason_is_of_a_block():
    for page, listed in NOT_RUN.items():
        texts = [each.text for each in blocks() if each.page == page]
        for start in listed:
            assert any(text.startswith(start) for text in texts), (page, start)


def commands():
    """Return all evenkey command lines in README and docs, without redirections to files."""
    for each in blocks():
        if each.language == "sh":
            for line in re.sub(r"\\\n", " ", each.text).splitlines():
                if line.strip().startswith("evenkey "):
                    yield line.partition(" > ")[0].strip()


@pytest.mark.parametrize("line", sorted({*commands()}))
def test_a_command_has_the_options_that_it_is_shown_with(line):
    command, arguments = typer.main.get_command(app), shlex.split(line, comments=True)[1:]
    while children := getattr(command, "commands", None):
        command = children[arguments.pop(0)]
    command.make_context("evenkey", arguments)
