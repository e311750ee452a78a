"""Texts from data cannot control the terminal, and have no meaning in Markdown."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pytest
from rich.table import Table

import evenkey.cli
from evenkey.cli.output import Printer
from evenkey.core.profiles import HotKey, Operation, Profile, SampledRows, write_profile
from tests.diagnosis.writing import Log, applied

CONTROLS = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eback"
SHOWN = "?[31mred?]0;title"


def harmless(text):
    return all(each.isprintable() or each == "\n" for each in text)


@pytest.fixture
def log(tmp_path):
    made = Log(name=CONTROLS)
    made.execution(0, applied())
    made.stage(0, [100, 700, 100, 100], [1.5, 7.5, 1.5, 1.5])
    return made.write(tmp_path / "log")


def test_a_hot_key(invoke, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("key,n\n" + f"{CONTROLS},1\n" * 80 + "b,1\nc,1\n" * 10)
    said = invoke("advise", file, "--key", "key", "--workers", "4")
    assert said.exit_code == 0, said.stderr
    assert SHOWN in said.stdout
    assert harmless(said.stdout)


def test_the_name_of_an_application(invoke, log):
    for form in ("text", "markdown"):
        said = invoke("diagnose", log, "--format", form)
        assert said.exit_code == 0, said.stderr
        assert "red?" in said.stdout
        assert harmless(said.stdout)


def test_rows_of_results(invoke, pipeline):
    pipeline.table = pa.table({f"k{CONTROLS}": [CONTROLS, "b"], "count": [1, 2]})
    said = invoke("run", "--dataset", "country-skew-r80", "--messages", "50000")
    assert said.exit_code == 0, said.stderr
    assert "?[31mred" in said.stdout
    assert harmless(said.stdout)


def test_a_path_in_an_error(invoke, tmp_path):
    said = invoke("diagnose", tmp_path / "\x9b2Jgone")
    assert said.exit_code == 2
    assert "?2Jgone" in said.stderr
    assert harmless(said.stderr)


@pytest.mark.parametrize(
    ("key", "escaped"),
    [
        ("<img src=//evil/x>", r"\<img src=//evil/x\>"),
        ("![t](http://evil/p.png)", r"!\[t\](http://evil/p.png)"),
        ("a\n# big", r"a \# big"),
        ("\x1b[31m", r"?\[31m"),
    ],
)
def test_keys_of_a_profile_in_markdown(invoke, tmp_path, log, key, escaped):
    path = tmp_path / "profile.json"
    rows = SampledRows(100.0, (HotKey(7, 70.0, key),))
    operation = Operation("applyInPandas(f)", ("customer",), ("t",), 0.0, inputs=(rows,))
    write_profile(path, Profile({"0f": operation}))
    said = invoke("diagnose", log, "--profile", path, "--format", "markdown", "--show-keys")
    assert said.exit_code == 0, said.stderr
    _, _, profile = said.stdout.partition("## Profile\n\n")
    line, *rest = profile.splitlines()
    assert not rest
    assert escaped in line
    assert harmless(profile)


def test_colours_of_the_program_stay():
    file = io.StringIO()
    printer = Printer(file=file, force_terminal=True, color_system="standard", width=40)
    table = Table("heading")
    table.add_row(f"[red]cell[/red] {CONTROLS}")
    printer.print(table)
    printer.print("\x1b[32mgreen", style="bold", markup=False, highlight=False)
    written = file.getvalue()
    assert "\x1b[31mcell\x1b[0m" in written
    assert "\x1b[1m?[32mgreen\x1b[0m" in written
    assert harmless(re.sub(r"\x1b\[[\d;]*m", "", written))


def test_one_module_prints():
    """Other modules print through it, so that no text from data reaches the terminal as it is."""
    folder = Path(evenkey.cli.__file__).parent
    printing = re.compile(r"typer\.s?echo\(|(?<![\w.])(Console|print)\(|sys\.std(out|err)\.write")
    found = {
        str(each.relative_to(folder))
        for each in folder.rglob("*.py")
        if printing.search(each.read_text("utf-8"))
    }
    assert found == {"output.py"}
