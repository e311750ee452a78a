"""The report of a learner's run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from evenkey.pipeline.aggregate import RunReport
from evenkey.pipeline.learn.learning_tasks import COUNTERS, TRIALS

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.pipeline.learn.base import Model
    from evenkey.pipeline.runs import EpochFiles


@dataclass(frozen=True)
class EpochLearned:
    """Figures of learning in an epoch, and the accuracy of the previous model.

    Parameters
    ----------
    records
        Number of records in the epoch.
    predicted, right
        Number of records whose label the model of the previous epoch could predict, and number of
        records whose label it predicted correctly.
    counters
        Number of counters in each worker's partial aggregates at the end of the epoch.
    """

    epoch: int
    records: int
    predicted: int
    right: int
    counters: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        return {
            "epoch": self.epoch,
            "records": self.records,
            "accuracy": _share(self.right, self.predicted),
            "counters": sum(self.counters),
            "most_counters": max(self.counters, default=0),
        }


@dataclass(frozen=True, kw_only=True)
class LearningReport(RunReport):
    """The figures of a learner's run; its messages are made from records.

    Parameters
    ----------
    application
        Spelling of the learner.
    learned
        Figures of each epoch, including epochs before a restart.
    model
        The last model.
    model_file
        Path or URI of the last model's file; None without an output.

    Examples
    --------
    >>> from evenkey import run
    >>> from evenkey.applications import DecisionTree, LearnConfig
    >>> config = LearnConfig(dataset="clusters", messages=500, epochs=2)
    >>> report = run(config, learner=DecisionTree(max_depth=2))  # doctest: +SKIP
    >>> report.application, len(report.learned)  # doctest: +SKIP
    ('decision-tree(max_depth=2)', 2)
    >>> report.to_json()["records"]  # doctest: +SKIP
    500
    """

    application: str
    learned: tuple[EpochLearned, ...]
    model: Model
    model_file: Path | str | None

    def to_json(self) -> dict[str, Any]:
        """Return the figures of `RunReport`, and the figures of learning."""
        figures = super().to_json()
        figures["output"]["model"] = None if self.model_file is None else str(self.model_file)
        predicted = sum(each.predicted for each in self.learned)
        return {
            **figures,
            "application": self.application,
            "records": sum(each.records for each in self.learned),
            "accuracy": _share(sum(each.right for each in self.learned), predicted),
            "counters": max((sum(each.counters) for each in self.learned), default=0),
            "most_counters": max((max(each.counters) for each in self.learned), default=0),
            "learned": [each.to_json() for each in self.learned],
        }


def epochs_learned(files: EpochFiles) -> tuple[EpochLearned, ...]:
    """Read the reports of sources and workers for each epoch."""
    learned = []
    for epoch in files.epochs(TRIALS):
        trials, held = files.read(TRIALS, [epoch]), files.read(COUNTERS, [epoch])
        if trials is None or held is None:
            continue
        records, predicted, right = (
            int(pc.sum(trials[name]).as_py()) for name in ("records", "predicted", "right")
        )
        counters = tuple(held["counters"].to_pylist())
        learned.append(EpochLearned(epoch, records, predicted, right, counters))
    return tuple(learned)


def _share(right: int, predicted: int) -> float | None:
    return right / predicted if predicted else None
