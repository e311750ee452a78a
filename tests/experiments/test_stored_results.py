"""Stored results are of the scenarios that experiments declare, or their page says otherwise."""

from __future__ import annotations

import tomllib

from tools.reproduction.records import RUNS, records


def test_runs_are_those_of_the_stored_results():
    ran = tomllib.loads(RUNS.read_text("utf-8"))
    assert {*ran} == {record.id for record in records()}
    changed = {record.id for record in records() if record.changed}
    assert changed == {name for name, entry in ran.items() if "summary" in entry}
