"""The Python code of docs/diagnose.md runs; its limits and its output are those of the code."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from evenkey.cli.diagnosis_text import print_diagnosis
from evenkey.reports.diagnosis import Thresholds, diagnose
from tests.diagnosis.writing import skewed
from tests.snippets.blocks import snippets

GUIDE = (Path(__file__).parents[2] / "docs" / "diagnose.md").read_text()


def test_the_example_runs(capsys, tmp_path, monkeypatch):
    (tmp_path / "spark-events").mkdir()
    skewed().write(tmp_path / "spark-events" / "app-1")
    monkeypatch.chdir(tmp_path)
    (example,) = snippets("docs/diagnose.md", "python")
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102 - our own guide
    assert capsys.readouterr().out.startswith("('customer',) about 2.5x faster")


def test_the_limits_are_those_of_the_code():
    rows = dict(re.findall(r"^\| `(least_\w+)` \| ([\d.]+) \|", GUIDE, re.MULTILINE))
    usual = dataclasses.asdict(Thresholds())
    assert {name: float(value) for name, value in rows.items()} == usual


def test_the_output_is_that_of_a_kept_log(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_diagnosis(diagnose(Path(__file__).parent / "causes" / "join-hot.gz"))
    (shown,) = re.findall(r"^```text\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert shown in "\n".join(printed)
