"""Count the state that the PKG paper's applications keep on workers, in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators import WORKER, Aggregator, Count, HeavyHitters
from evenkey.applications import Clusters, DecisionTree, Documents, InProcess, NaiveBayes
from evenkey.core.hashing import hash_strings
from evenkey.core.metrics import max_over_mean
from evenkey.groupings import parse
from evenkey.papers.experiments.pkg.draws import Drawn
from evenkey.pipeline.learn import labelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.papers.experiments import Dataset

CLASSES, FEATURES, DEPTH = 4, 21, 2
"""Classes, features and depth of the decision tree. The number of features has no divisor in
common with the numbers of workers: else shuffle grouping, which deals messages out in turn, would
send all messages of a feature to a few workers."""
CAPACITY, TOP = 100, 20
WORDS = 1_000
APPLICATIONS = {
    "word-count": f"documents(words={WORDS})",
    "naive-bayes": f"documents(words={WORDS})",
    "heavy-hitters": f"documents(words={WORDS})",
    "decision-tree": f"clusters(classes={CLASSES},features={FEATURES})",
}
"""The stream of each application, with the parameters that are not the usual ones."""


def records_of(dataset: Dataset, seed: int) -> pa.Table:
    """Return the labelled records of a stream."""
    count = dataset.messages or 0
    streams = {each.family: each for each in (Documents, Clusters)}
    return labelled(dataset.name, streams, messages=count, seed=seed).records(0, count)


@dataclass(frozen=True)
class ApplicationState(Drawn):
    """An application whose workers aggregate what one source sends to them.

    The stream's messages are records: documents, of which each word is sent, or points, of which
    each feature is sent.

    Parameters
    ----------
    application
        One of `APPLICATIONS`.
    grouping
        The grouping by which words or features are routed.
    workers
        Number of workers.
    """

    kind: ClassVar[str] = "application-state"
    names: ClassVar[tuple[str, ...]] = ("state", "cells")

    application: str
    grouping: str
    workers: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the counters or histograms of all workers, and those that the result needs."""
        records = records_of(self.dataset, seed)
        if self.application == "decision-tree":
            return self._tree(records)
        bayes = NaiveBayes()
        if self.application == "naive-bayes":
            trained = InProcess(bayes, self.grouping, self.workers).train([records])
            return {"state": int(trained.counters.sum()), "cells": trained.model.counts.num_rows}
        words = bayes.messages(records, bayes.start())
        words = words.filter(pc.not_equal(words["key"], ""))
        cells = pc.count_distinct(words["key"]).as_py()
        grouping = parse(self.grouping)
        aggregator: Aggregator = Count()
        if self.application == "heavy-hitters":
            aggregator = HeavyHitters(TOP, CAPACITY, grouping.most_workers_of_a_key)
            cells = CAPACITY
        placed = grouping.router(self.workers).route(hash_strings(words["key"]))
        words = words.append_column(WORKER, pa.array(placed))
        by = [] if aggregator.scope == "window" else ["key"]
        states = [
            aggregator.partial(words.filter(pa.array(placed == worker)), by)
            for worker in np.unique(placed)
        ]
        return {"state": sum(map(_counters, states)), "cells": cells}

    def _tree(self, records: pa.Table) -> Mapping[str, float]:
        """Return the histograms of the last epoch, and D C L; each epoch has all records."""
        tree = DecisionTree(max_depth=DEPTH + 1)
        run = InProcess(tree, self.grouping, self.workers)
        before = run.train([records] * DEPTH)
        trained = run.train([records], before.model)
        leaves = len(before.model.leaves)
        return {"state": int(trained.counters.sum()), "cells": FEATURES * CLASSES * leaves}


@dataclass(frozen=True)
class ApplicationLoads(ApplicationState):
    """As `ApplicationState`, but the messages of each worker count, in the first epoch."""

    kind: ClassVar[str] = "application-loads"
    names: ClassVar[tuple[str, ...]] = ("max_over_mean",)

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the maximum load over the mean."""
        records, tree, bayes = records_of(self.dataset, seed), DecisionTree(), NaiveBayes()
        if self.application == "decision-tree":
            sent = tree.messages(records, tree.start())
        else:
            sent = bayes.messages(records, bayes.start())
        if self.application == "word-count":
            sent = sent.filter(pc.not_equal(sent["key"], ""))
        placed = parse(self.grouping).router(self.workers).route(hash_strings(sent["key"]))
        return {"max_over_mean": max_over_mean(np.bincount(placed, minlength=self.workers))}


def _counters(state: pa.Table) -> int:
    """Return the number of counters of a worker: rows, or entries of summaries."""
    if "summaries" not in state.column_names:
        return int(state.num_rows)
    summaries = pc.list_flatten(state["summaries"])
    return int(pc.sum(pc.list_value_length(pc.struct_field(summaries, "keys"))).as_py())
