"""The whole program: its help, version and exit codes; it starts without Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIGHT = [
    ["--help"],
    ["--version"],
    ["run", "--help"],
    ["compare", "--help"],
    ["simulate", "--help"],
    ["dataset", "list"],
    ["dataset", "describe", "country-skew-r80", "--messages", "10"],
    ["simulate", "--dataset", "country-skew-r80", "--messages", "10", "--json"],
    ["run", "--dataset", "country-skew-r80", "--workers", "0"],
    ["compare", "--dataset", "country-skew-r80", "--groupings", "pgk"],
]


@pytest.mark.slow(5)
def test_help_lists_the_commands(invoke):
    outcome = invoke("--help")
    assert outcome.exit_code == 0
    assert all(each in outcome.stdout for each in ("run", "compare", "simulate", "dataset"))


@pytest.mark.parametrize("group", [(), ("join",), ("dataset",), ("experiment",)])
def test_a_group_without_arguments_prints_its_help_and_exits_with_0(invoke, group):
    bare, asked = invoke(*group), invoke(*group, "--help")
    assert (bare.exit_code, bare.stderr) == (0, "")
    assert bare.stdout == asked.stdout
    assert bare.stdout.startswith(f"Usage: {' '.join(('evenkey', *group))} [OPTIONS] COMMAND")


def test_version_is_printed(invoke):
    outcome = invoke("--version")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("evenkey ")


@pytest.mark.parametrize(
    "arguments",
    [["--worker", "3"], ["surplus"], ["--groupings", "kg"], ["--workers"], ["--json=yes"]],
)
def test_bad_usage_exits_with_2_and_prints_nothing_on_standard_output(invoke, arguments):
    outcome = invoke("run", "--dataset", "country-skew-r80", *arguments)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("error: ")
    assert len(outcome.stderr.splitlines()) == 1
    assert "Traceback" not in outcome.stderr


@pytest.mark.slow(3)
def test_commands_that_need_no_spark_do_not_import_it():
    script = (
        "import sys; from typer.testing import CliRunner; from evenkey.cli import app\n"
        f"codes = [CliRunner().invoke(app, each).exit_code for each in {LIGHT}]\n"
        "print(codes, 'pyspark' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[0, 0, 0, 0, 0, 0, 0, 0, 2, 2] False"


def test_a_missing_extra_of_mcp_is_named(invoke, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    said = invoke("mcp")
    assert said.exit_code == 2
    assert "evenkey mcp needs the package mcp" in said.stderr
    assert "pip install 'evenkey[mcp]'" in said.stderr
