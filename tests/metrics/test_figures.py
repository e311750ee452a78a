"""Each metric is declared once, and everything that shows it uses the declaration."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from evenkey.core.metrics import (
    FIGURES,
    Figures,
    Pace,
    Paced,
    PairCounts,
    RunMetrics,
    Seen,
    dist_cost_lower_bound,
    figure,
    imbalance_fraction,
    known,
    max_over_mean,
    shown_in,
    stddev_percent,
)
from tools.figures_table import page

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Two(Figures):
    both: int = figure("messages", "Of both.", len, shown=("card", "chart"), counts_up=True)
    late: float = figure("ms", "Of an epoch.", max, scope="epoch", label="Late")
    by_worker: tuple[int, ...] = figure("load", "Of the run.", tuple, scope="run")


def test_one_declaration_gives_the_figure_of_the_run_and_of_an_epoch():
    run, epoch, late, by_worker = Two.declared()
    assert [each.name for each in (run, epoch, late, by_worker)] == [
        *("both", "epoch_both", "late", "by_worker")
    ]
    assert (list(run.shown), list(epoch.shown)) == (["card"], ["chart"])
    assert (run.counts_up, epoch.counts_up) == (True, False)
    assert (run.label, late.label, by_worker.label) == ("both", "Late", "by worker")
    assert (run.whole, late.whole, by_worker.whole) == (True, False, True)
    assert [each.by_worker for each in (run, by_worker)] == [False, True]


def test_values_have_the_names_that_records_have():
    two = Two.of([3, 1])
    assert (two.both, two.late, two.by_worker) == (2, 3, (3, 1))
    assert two.named(of_epoch=False) == {"both": 2, "by_worker": (3, 1)}
    assert two.named(of_epoch=True) == {"epoch_both": 2, "late": 3}


def test_figures_that_an_older_version_did_not_write_are_unknown():
    two = Two.restored({"both": 5, "by_worker": [1, 2], "gone": 1})
    assert (two.both, two.by_worker) == (5, (1, 2))
    assert math.isnan(two.late)


def test_unknown_figures_of_a_run_are_none_in_json():
    assert known(Two.restored({"by_worker": [3, 1]})) == {"both": None, "by_worker": (3, 1)}


def test_figures_of_a_run_are_those_of_the_functions():
    workers, keys = np.array([0, 0, 1, 2]), np.array([7, 8, 7, 9], dtype=np.uint64)
    counts = PairCounts(workers=3)
    counts.add(workers, keys, np.array([1, 5, 2, 4]))
    metrics = RunMetrics.of(Seen(counts, messages=4, average_imbalance=3.0))
    loads = [6, 2, 4]
    assert metrics == RunMetrics(
        messages=4,
        keys=3,
        pairs=4,
        loads=(6, 2, 4),
        max_over_mean=max_over_mean(loads),
        imbalance_fraction=imbalance_fraction(loads),
        average_imbalance_fraction=3.0 / 12,
        stddev_percent=stddev_percent(loads),
        dist_cost=4 / 3,
        dist_cost_lower_bound=dist_cost_lower_bound([3, 5, 4], 3),
        moved_keys=0,
        moved_load=0.0,
        size_imbalance=2.0,
        cardinality_imbalance=2 - 4 / 3,
        key_split_ratio=4 / 3,
    )


@pytest.mark.parametrize(
    ("name", "value", "written", "cell"),
    [
        ("max_over_mean", 1.31623, "1.316", "1.316"),
        ("stddev_percent", 4.7041, "4.70 %", "4.70"),
        ("messages", 1234567, "1,234,567", "1,234,567"),
        ("messages_per_second", 3400.4, "3,400 /s", "3,400"),
        ("makespan_ms", 9876.5, "9,876 ms", "9.88"),
        ("makespan_ms", 12_345.6, "12.3 s", "12.35"),
        ("state_bytes", 1_234_567, "1.2 MB", "1,234,567"),
        ("imbalance_fraction", 0.000123, "1.2e-04", "1.2e-04"),
        ("dist_cost", float("nan"), "-", "-"),
        ("dist_cost", None, "-", "-"),
    ],
)
def test_values_are_written_with_their_units(name, value, written, cell):
    assert (FIGURES[name].written(value), FIGURES[name].cell(value)) == (written, cell)


def test_headings_have_the_unit_of_their_cells():
    names = ("makespan_ms", "stddev_percent", "messages", "messages_per_second")
    assert [FIGURES[name].heading for name in names] == [
        *("makespan s", "StdDev %", "messages", "throughput /s")
    ]


def test_charts_are_over_epochs():
    names = ("epoch_max_over_mean", "epoch_duration_ms", "lag")
    assert [FIGURES[name].title for name in names] == [
        *("Max/mean by epoch", "Epoch duration", "Lag by epoch")
    ]


def test_a_p99_needs_a_hundred_values():
    def pace(epochs):
        return Pace.of(Paced(0, 1.0, [float(each) for each in range(epochs)]))

    assert math.isnan(pace(0).duration_p50_ms)
    assert pace(1).duration_p50_ms == 0
    assert math.isnan(pace(99).duration_p99_ms)
    assert pace(100).duration_p99_ms == pytest.approx(98.01)


def test_every_figure_has_a_meaning_and_limits_are_figures():
    for each in FIGURES.values():
        assert each.text.endswith(".")
        assert each.limit in ("", *FIGURES)
    assert "mldc" in {each.name for each in shown_in("chart")}


def test_the_table_in_the_docs_is_the_one_that_the_declarations_make():
    assert (ROOT / "docs" / "figures.md").read_text() == page(), "run `make figures`"
