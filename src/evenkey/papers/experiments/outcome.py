"""The outcome of a run of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenkey.papers.experiments.scale import scale_named
from evenkey.papers.experiments.timed import LEAST, MACHINE, MOST, RUNS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from evenkey.papers.claims import Finding, Tables
    from evenkey.papers.experiments.base import Experiment
    from evenkey.papers.experiments.scale import Scale
    from evenkey.reports.pictures import Plot, Table


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment, and its tables, plots and findings.

    Parameters
    ----------
    experiment, scale, seed
        The experiment that was run, with its scale and seed.
    frame
        One row per scenario: its parameters and figures.
    skipped
        Reasons why scenarios were left out, without duplicates.
    results
        Folder with the result files of the scenarios.
    digest
        SHA-256 of all results, as `Store.frame_and_digest` computes it.
    kafka
        Kafka servers through which the streams were read. None: the streams were generated.
    """

    experiment: Experiment
    scale: Scale
    seed: int
    frame: pd.DataFrame
    skipped: Sequence[str]
    results: Path
    digest: str
    kafka: str | None = None

    @cached_property
    def labelled(self) -> pd.DataFrame:
        """The results with the paper's names and figures."""
        return self.experiment.labelled(self.frame)

    @cached_property
    def tables(self) -> Sequence[Table]:
        """The tables of the experiment; empty if all scenarios were skipped."""
        return self.experiment.tables(self.labelled) if len(self.frame) else ()

    @cached_property
    def plots(self) -> Sequence[Plot]:
        """The plots of the experiment; empty if all scenarios were skipped."""
        return self.experiment.plots(self.labelled) if len(self.frame) else ()

    @cached_property
    def shown(self) -> Tables:
        """The tables as JSON represents them: titles, columns, and cells as text."""
        return [
            {
                "title": table.title,
                "note": table.note,
                "columns": [column.title for column in table.columns],
                "cells": _with_ranges(table),
                "rows": table.rows(),
            }
            for table in self.tables
        ]

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """The verdicts on the claims that the experiment tests, by the cells of its tables."""
        tables = {self.experiment.id: self.shown}
        return [finding for claim in self.experiment.claims for finding in claim.judged(tables)]

    @property
    def machines(self) -> Sequence[str]:
        """The machines on which figures were timed; empty if all figures are simulated."""
        machines = self.frame.get(MACHINE, ())
        return list(dict.fromkeys(each for each in machines if isinstance(each, str)))

    @property
    def repeats(self) -> Sequence[int]:
        """The numbers of runs whose median is a timing; empty if nothing was timed."""
        if not self.machines:
            return []
        timed = self.frame[self.frame[MACHINE].notna()]
        return sorted(int(each) for each in timed["repeats"].unique())

    @property
    def command(self) -> str:
        """The command that reproduces the figures."""
        seed = f" --seed {self.seed}" if self.seed else ""
        kafka = f" --kafka {self.kafka}" if self.kafka else ""
        repeats = ""
        if self.machines and self.scale.repeats != scale_named(self.scale.name).repeats:
            repeats = f" --repeats {self.scale.repeats}"
        return (
            f"evenkey experiment run {self.experiment.id} --scale {self.scale.name}"
            f"{repeats}{seed}{kafka}"
        )

    def to_json(self) -> dict[str, Any]:
        """Convert the outcome, with its tables and findings, to values that JSON can represent."""
        return {
            "experiment": self.experiment.id,
            "title": self.experiment.title,
            "reference": self.experiment.reference,
            "scale": self.scale.name,
            "seed": self.seed,
            "kafka": self.kafka,
            "command": self.command,
            "summary": self.experiment.summary,
            "machines": list(self.machines),
            "repeats": list(self.repeats),
            "digest": self.digest,
            "messages": int(self.frame["messages"].sum()) if len(self.frame) else 0,
            "plots": [plot.title for plot in self.plots],
            "tables": list(self.shown),
            "findings": [finding.to_json() for finding in self.findings],
            "skipped": list(self.skipped),
            "scenarios": len(self.frame),
        }


def _with_ranges(table: Table) -> list[list[str]]:
    """Return the cells of a table as text; a median is followed by its runs or by their range.

    What follows is left out if all runs gave the same value.
    """
    cells = table.cells()
    for row, figures in zip(cells, table.frame.to_dict("records"), strict=True):
        for place, column in enumerate(table.columns):
            between, others = _others(figures, column.name)
            texts = [column.written(each) for each in others]
            if len({*texts}) > 1:
                row[place] += f" ({between.join(texts)})"
    return cells


def _others(figures: Mapping[Hashable, Any], name: str) -> tuple[str, Sequence[float]]:
    """Return the runs of a timing, or else the ends of its range, and what stands between them."""
    runs = figures.get(f"{name}{RUNS}")
    if isinstance(runs, list):
        return "; ", runs
    ends = [figures[f"{name}{end}"] for end in (LEAST, MOST) if f"{name}{end}" in figures]
    return " to ", ends
