"""The help pages of all commands: their width, and names that are not broken."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from evenkey.cli import app

_METAVAR = re.compile(r"[A-Z][A-Z0-9/\[\],.:|]*|[a-z0-9_()A-Z-]+(\|[a-z0-9_()A-Z-]+)+")
_PROGRAM: Any = typer.main.get_command(app)


def walk(command, path=()):
    """Yield each command with its path, also those of groups."""
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from walk(each, (*path, name))


PAGES = dict(walk(_PROGRAM))


def flags(path):
    known = {name for each in PAGES[path].params for name in each.opts}
    return ["--help", *({"--help-all"} & known)]


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("path", PAGES, ids=" ".join)
def test_no_line_is_too_long_and_no_name_is_broken(invoke, monkeypatch, path, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for flag in flags(path):
        shown = invoke(*path, flag)
        assert shown.exit_code == 0
        lines = shown.stdout.splitlines()
        assert max(map(len, lines)) <= width
        listed = {line.split("  ")[1].strip() for line in lines if line.startswith("  -")}
        for each in PAGES[path].params:
            if each.param_type_name == "argument":
                assert f"\n  {each.metavar}" in shown.stdout
            elif flag == "--help-all" or not each.hidden:
                assert_listed(each, listed)


def assert_listed(option, listed):
    (name,) = option.opts
    if option.secondary_opts:
        assert f"{name} / {option.secondary_opts[0]}" in listed
    else:
        assert (name if option.is_flag else f"{name} {option.metavar}") in listed


@pytest.mark.parametrize("path", PAGES, ids=" ".join)
def test_each_option_has_a_readable_name_for_its_value_and_a_help_text(path):
    for each in PAGES[path].params:
        assert each.help, each.name
        if not getattr(each, "is_flag", False):
            assert _METAVAR.fullmatch(each.metavar or ""), (each.name, each.metavar)


def test_defaults_and_choices_are_named(invoke):
    page = invoke("join", "run", "--help-all").stdout
    assert "dynamic-db-strl," in page  # not broken at a hyphen
    shown = " ".join(page.split())
    assert "--workers N Worker slots. Default: 16." in shown
    assert "--mode MODE What is balanced, and where rows are joined. One of static-strl," in shown
    assert "--follow / --no-follow Keep reading" in shown
    assert "--load-clock processor|wall" in shown


def test_panels_come_before_the_general_options(invoke):
    headings = re.findall(r"^(\w[\w ]*):$", invoke("run", "--help").stdout, re.MULTILINE)
    assert invoke("run", "-h").stdout == invoke("run", "--help").stdout
    assert headings[0] == "Input"
    assert headings[-1] == "Options"
    assert re.findall(r"^(\w+):$", invoke().stdout, re.MULTILINE) == [
        "Commands", "Papers", "Options"
    ]  # fmt: skip
