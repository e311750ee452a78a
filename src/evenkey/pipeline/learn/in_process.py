"""Run a learner's epochs in one process, with simulated routers and workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

import numpy as np
import pyarrow as pa

from evenkey.core.checking import check_fields, whole_number
from evenkey.core.hashing import hash_strings
from evenkey.groupings import parse
from evenkey.pipeline.learn.base import Learner, ModelT, check_learner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from evenkey.groupings import Grouping, Snapshot

_KEY = ("key",)


@dataclass(frozen=True)
class Trained(Generic[ModelT]):
    """The model that `InProcess.train` learned, and the loads of the workers.

    Parameters
    ----------
    model
        The model at the end of the last epoch.
    counters
        Number of counters in each worker's partial aggregates, int64[epochs, workers].
    messages
        Number of messages of each worker, int64[epochs, workers].

    Examples
    --------
    >>> from evenkey.applications import Clusters, DecisionTree
    >>> learned = InProcess(DecisionTree(max_depth=2), "pkg", workers=4)
    >>> trained = learned.train([Clusters(features=3, length=400).records(0, 400)])
    >>> trained.model.depth, trained.messages.shape
    (1, (1, 4))
    """

    model: ModelT
    counters: NDArray[np.int64]
    messages: NDArray[np.int64]


@dataclass(frozen=True)
class InProcess(Generic[ModelT]):
    """Trains in this process like a run on Spark: sources route, workers aggregate by key.

    Use it in tests and notebooks, and to see how a grouping distributes a learner's messages. Each
    epoch makes a model. A grouping that needs the frequencies of keys gets the frequencies of each
    epoch before the epoch starts.

    Parameters
    ----------
    learner
        The learner.
    grouping
        A grouping or its spelling.
    workers, sources
        Number of workers, and number of sources, at least 1 each.
    batch
        Number of records that a source converts at a time; smaller batches use less memory.
    rate
        Messages per second and source, for groupings that use times.

    Raises
    ------
    ConfigurationError
        A number is out of range.

    Examples
    --------
    >>> from evenkey.applications.trees import Clusters, DecisionTree
    >>> stream = Clusters(features=3, length=400)
    >>> run = InProcess(DecisionTree(max_depth=2), "pkg", workers=4)
    >>> trained = run.train(stream.records(start, start + 200) for start in (0, 200))
    >>> trained.model.depth, trained.messages.sum(axis=1).tolist()
    (2, [600, 600])
    """

    learner: Learner[ModelT]
    grouping: str | Grouping
    workers: int
    sources: int = 1
    batch: int = field(default=1 << 14, kw_only=True)
    rate: float = field(default=100.0, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        check_learner(self.learner)
        for name in ("sources", "batch"):
            whole_number(name, getattr(self, name), 1)
        parse(self.grouping).router(self.workers)

    def train(self, epochs: Iterable[pa.Table], model: ModelT | None = None) -> Trained[ModelT]:
        """Learn from epochs, one after the other.

        Parameters
        ----------
        epochs
            One table of records per epoch, with ``label`` and the learner's fields. For several
            passes over a small set of records, pass the same table several times.
        model
            The model to continue from; default: the empty model.
        """
        learner, grouping = self.learner, parse(self.grouping)
        model = learner.start() if model is None else model
        routers = [grouping.router(self.workers, each) for each in range(self.sources)]
        routed = [0] * self.sources
        counters, messages = [], []
        for records in epochs:
            if grouping.given_frequencies:
                plan = self._plan(grouping, records, model)
                for router in routers:
                    router.remember(plan)
            held: list[list[pa.Table]] = [[] for _ in range(self.workers)]
            counts = np.zeros(self.workers, dtype=np.int64)
            for number, sent in enumerate(self._messages(records, model)):
                source = number % self.sources
                times = (routed[source] + np.arange(sent.num_rows)) / self.rate
                placed = routers[source].route(hash_strings(sent["key"]), times)
                routed[source] += sent.num_rows
                counts += np.bincount(placed, minlength=self.workers)
                for worker in np.unique(placed):
                    own = sent.filter(pa.array(placed == worker))
                    held[worker].append(learner.aggregator.partial(own, _KEY))
            partials = [self._merged(parts) if parts else None for parts in held]
            counters.append([0 if each is None else learner.counters(each) for each in partials])
            messages.append(counts)
            there = [each for each in partials if each is not None]
            if there:
                merged = learner.aggregator.finish(self._merged(there), _KEY)
                model = learner.learn(model, merged.sort_by("key"))
        shape = (-1, self.workers)
        return Trained(model, np.reshape(counters, shape), np.reshape(messages, shape))

    def _messages(self, records: pa.Table, model: ModelT) -> Iterator[pa.Table]:
        """Convert records to messages, one batch at a time."""
        for start in range(0, records.num_rows, self.batch):
            yield self.learner.messages(records.slice(start, self.batch), model)

    def _plan(self, grouping: Grouping, records: pa.Table, model: ModelT) -> Snapshot:
        """Count the keys of an epoch, and return the grouping's plan for these counts."""
        sent = [hash_strings(each["key"]) for each in self._messages(records, model)]
        keys, counts = np.unique(np.concatenate([hash_strings([]), *sent]), return_counts=True)
        return grouping.plan(keys, counts.astype(np.float64), self.workers)

    def _merged(self, partials: list[pa.Table]) -> pa.Table:
        return self.learner.aggregator.merge(pa.concat_tables(partials), _KEY)
