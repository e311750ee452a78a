"""Runs with users' own aggregators, named by their modules."""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from decimal import Decimal

import pytest

from evenkey import PipelineConfig, fold, run
from evenkey.aggregators import Count
from evenkey.core.errors import RunError
from evenkey.pipeline.aggregate.changed_functions import FUNCTIONS, note_functions
from evenkey.pipeline.runs import RunDirectory

FOLDS = """
from decimal import Decimal

import evenkey

CENT = Decimal("0.01")

def rounded(amount):
    return Decimal(amount or 0).quantize(CENT)

visits = evenkey.fold(
    columns=["paid", "page"],
    zero=(0, Decimal(0), frozenset()),
    add=lambda state, paid, page: (state[0] + 1, state[1] + rounded(paid), state[2] | {page}),
    combine=lambda one, other: (one[0] + other[0], one[1] + other[1], one[2] | other[2]),
    answer=lambda state: (state[0], state[1], sorted(state[2])),
    result="sessions long, revenue decimal(22,2), pages array<string>",
    state_type="struct<sessions: long, revenue: decimal(22,2), pages: array<string>>",
)
"""
ROWS = [
    (f"user {'hot' if number % 3 else number % 17}", number % 700 / 4, f"page {number % 5}")
    for number in range(900)
]


@pytest.mark.usefixtures("spark")
@pytest.mark.slow(4)
@pytest.mark.parametrize("grouping", ["dkg", pytest.param("planned", marks=pytest.mark.soak)])
def test_results_equal_a_plain_count(grouping, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_visits.py").write_text(FOLDS)
    lines = "".join(f"{user},{paid},{page}\n" for user, paid, page in ROWS)
    (tmp_path / "rows.csv").write_text(f"user,paid,page\n{lines}")
    config = PipelineConfig(
        input=(tmp_path / "rows.csv",),
        key="user",
        grouping=grouping,
        aggregator="n=count,of=own_visits:visits",
        types="paid decimal(12,2)",
        workers=3,
        sources=2,
        aggregators=1,
        epochs=2,
        rate=450 / 60,
    )
    assert config.aggregator == "n=count,of=own_visits:visits"
    monkeypatch.delitem(sys.modules, "own_visits")
    report = run(config)
    there: dict[tuple[int, str], list[tuple[Decimal, str]]] = defaultdict(list)
    for number, (user, paid, page) in enumerate(ROWS):
        there[number // 450, user].append((Decimal(paid), page))
    assert report.table is not None
    found = {
        (row["window_start"].minute, row["user"]): (row["n"], *row["of"].values())
        for row in report.table.to_pylist()
    }
    assert found == {
        place: (len(rows), len(rows), sum(paid for paid, _ in rows), sorted({p for _, p in rows}))
        for place, rows in there.items()
    }


def stepping(step):
    return fold(
        zero=0,
        add=lambda total: total + step,
        combine=lambda first, second: first + second,
        result="total long",
        state_type="long",
    )


def test_a_continued_run_logs_changed_functions(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    with RunDirectory.opened(tmp_path / "out") as directory:
        note_functions(Count(), directory)
        assert directory.store.find(FUNCTIONS) is None
        for step in (1, 1, 2, 2):
            note_functions(stepping(step), directory)
        (line,) = caplog.messages
        assert line.startswith(
            f"output {tmp_path / 'out'}: the functions of fold( -> total) have changed"
        )
        directory.store.put(FUNCTIONS, b"{")
        with pytest.raises(RunError, match=r"functions\.json cannot be read .*: delete it"):
            note_functions(stepping(1), directory)
