"""The example of docs/files.md runs: its command, its file, its table of results."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from evenkey import read_results
from tests.snippets.blocks import snippets

GUIDE = (Path(__file__).parents[2] / "docs" / "files.md").read_text("utf-8")


@pytest.mark.slow(11)
@pytest.mark.usefixtures("spark")
def test_the_example_gives_the_table(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (shell,) = snippets("docs/files.md", "sh")
    pattern = r"cat > orders\.csv <<'END'\n(.*)END\nevenkey (.*)"
    ((lines, command),) = re.findall(pattern, shell, re.DOTALL)
    Path("orders.csv").write_text(lines)
    outcome = invoke(*shlex.split(command.replace("\\\n", "")))
    assert outcome.exit_code == 0, outcome.stderr
    table = re.findall(r"^\| (.*) \|$", GUIDE.split("## Times")[0], re.MULTILINE)
    rows = []
    for row in read_results("out").to_pylist():
        times = [f"{row[name]:%Y-%m-%d %H:%M}" for name in ("window_start", "window_end")]
        rows.append((*times, row["region"] or "(null)", row["customer"], str(row["sum"])))
    assert sorted(rows) == sorted(tuple(line.split(" | ")) for line in table[-3:])
    assert re.search(r"rejected +1 of 4 lines", outcome.stdout)
