"""PKG, section 4.1: processor time of the steps of the decision tree."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.applications import DecisionTree, InProcess
from evenkey.core.hashing import hash_strings
from evenkey.groupings import parse
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Scale,
    Timed,
    TimedRun,
    of_kinds,
    of_steps,
)
from evenkey.papers.experiments.pkg.sections.application_state import (
    APPLICATIONS,
    CLASSES,
    DEPTH,
    FEATURES,
    records_of,
)
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments.scenario import OnMessages

_RECORDS = 5_000
_KEY = ("key",)
_NAMES = {"pkg": "PKG", "sg": "SG"}
_STEPS = {
    "messages": "finding leaves, a message for each feature",
    "route": "routing messages",
    "partial": "adding values to histograms",
    "merge": "merging histograms",
    "learn": "taking split decisions",
}


@dataclass(frozen=True)
class StepsOfTree(Timed):
    """Measures the processor time of the steps of an epoch of the decision tree.

    Parameters
    ----------
    grouping
        The grouping by which features are routed.
    workers
        Number of workers.
    """

    kind: ClassVar[str] = "steps-of-tree"
    fresh: ClassVar[bool] = True

    grouping: str
    workers: int

    @property
    def at_once(self) -> int:
        """All scenarios of the experiment alternate."""
        return 2 * len(_NAMES)

    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Take the steps of one epoch, after those in which the tree grew."""
        records = records_of(self.dataset, self.dataset.seed)
        tree = DecisionTree(max_depth=DEPTH + 1)
        before = InProcess(tree, self.grouping, self.workers).train([records] * DEPTH).model
        clock = [process_time()]
        sent = tree.messages(records, before)
        clock.append(process_time())
        placed = parse(self.grouping).router(self.workers).route(hash_strings(sent["key"]))
        clock.append(process_time())
        partials = [
            tree.aggregator.partial(sent.filter(pa.array(placed == worker)), _KEY)
            for worker in np.unique(placed)
        ]
        clock.append(process_time())
        merged = tree.aggregator.merge(pa.concat_tables(partials), _KEY)
        clock.append(process_time())
        tree.learn(before, tree.aggregator.finish(merged, _KEY).sort_by("key"))
        clock.append(process_time())
        if on_messages is not None:
            on_messages(records.num_rows)
        taken = dict(zip(_STEPS, np.diff(clock).tolist(), strict=True))
        return TimedRun({}, of_steps(taken, "ms", 1000.0))


class TimeOfMerging(Experiment):
    id = "pkg-section-4-1"
    title = "Processor time of the decision tree"
    summary = (
        f"One epoch of a decision tree in one process, with {FEATURES} features, {CLASSES} classes "
        f"and the leaves after {DEPTH} epochs of the same {_RECORDS:,} records; one source, one "
        "aggregator. Each worker adds its values to histograms, the aggregator merges those of all "
        "workers and takes the split decisions. Processor time of all threads. Medians of three "
        "streams."
    )
    charts = (
        Chart(
            "Processor time of the steps",
            Axis("workers", "Workers, W", "category"),
            Axis("percent", "Share of the processor time, %"),
            "step",
            kind="bars",
            panels=Grid("method", shared=True),
        ),
    )

    def scenarios(self, scale: Scale) -> list[StepsOfTree]:
        stream = Dataset(APPLICATIONS["decision-tree"], _RECORDS)
        return [
            StepsOfTree(stream, grouping, workers, repeats=scale.repeats)
            for grouping in _NAMES
            for workers in (5, 50)
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(method=frame["grouping"].map(_NAMES))

    def tables(self, frame: Frame) -> list[Table]:
        columns = [
            Column("method", "Method"),
            Column("workers", "W", "d"),
            Column("step", "Step"),
            Column("ms", "Processor time, ms", ",.1f"),
            Column("percent", "Share, %", ".0f"),
        ]
        return [Table("Processor time of the steps", columns, _by_step(frame))]

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(_by_step(frame)) for chart in self.charts]


def _by_step(frame: Frame) -> Frame:
    return of_kinds(frame, "step", _STEPS, {"ms": "{}_ms", "percent": "{}_percent"})
