"""The common parts of runs over keyed messages: session, observer, plans and report."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from evenkey.groupings import planner_of
from evenkey.kafka import connector_settings
from evenkey.pipeline.aggregate.key_planner import KeyPlanner
from evenkey.pipeline.aggregate.observer import Observer
from evenkey.pipeline.aggregate.report import ReportT
from evenkey.pipeline.aggregate.worker import PLACED
from evenkey.pipeline.runs import Tallies, Work
from evenkey.spark import session
from evenkey.spark.sessions import local_master

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from evenkey.groupings import By
    from evenkey.pipeline.aggregate.key_planner import PlannableInput
    from evenkey.pipeline.aggregate.observer import Observed
    from evenkey.pipeline.options import KeyedOptions
    from evenkey.pipeline.runs import Outcome, Recorder, RunDirectory, Sink


def keyed_session(
    options: KeyedOptions, *, shuffle_partitions: int, topics: bool = False
) -> SparkSession:
    """Return a session for a run; a local session has at least one slot per worker.

    Parameters
    ----------
    options
        The options of the run.
    shuffle_partitions
        Number of tasks that merge partial results.
    topics
        Whether the run reads or writes topics.
    """
    slots = max(options.workers, os.cpu_count() or 1)
    master = options.master or os.environ.get("SPARK_MASTER") or local_master(slots)
    own = session(master, connector_settings() if topics else {}).newSession()
    own.conf.set("spark.sql.shuffle.partitions", shuffle_partitions)
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own


class KeyedWork(Work[ReportT]):
    """Work on keyed messages; it has an observer and, if the grouping plans epochs, a planner.

    Parameters
    ----------
    spark, options, directory, recorder
        Session, options, directory and recorder of the run.
    name
        Name of the dataset, or the input's paths.
    rows, sink, expected
        See `Work`.
    routers
        Number of tasks that route.
    ahead
        The input, if its keys can be counted before they are routed; None if they cannot.
    route_by, observe_by
        Whether a message counts as 1 or as its weight: `route_by` in routing, `observe_by` in the
        reported loads.
    """

    measures: Observer

    def __init__(
        self,
        spark: SparkSession,
        options: KeyedOptions,
        directory: RunDirectory,
        recorder: Recorder | None,
        *,
        name: str,
        rows: DataFrame,
        sink: Sink,
        expected: int | None,
        routers: int,
        ahead: PlannableInput | None = None,
        route_by: By = "messages",
        observe_by: By = "messages",
    ) -> None:
        self.rows = rows
        self.sink = sink
        self.expected = expected
        self.measures = Observer(
            directory.files,
            options.workers,
            by=observe_by,
            workers_of=directory.workers_of,
            on_epoch=None if recorder is None else partial(_record, recorder),
        )
        self._directory = directory
        self._options = options
        self._name = name
        self._routers = routers
        self._by = {"route_by": route_by, "observe_by": observe_by}
        began = time.monotonic()
        self._planner = None
        planned = planner_of(options.resolved_grouping())
        if planned is not None:
            self._planner = KeyPlanner(
                spark, planned, options.workers, directory, ahead, by=route_by
            )
            self._planner.plan_first()
        self.planning_ms = 1000 * (time.monotonic() - began)

    def tallied_by(self, splitters: str | None) -> None:
        """Make the run check, before it commits an epoch, that the epoch's counts add up.

        Parameters
        ----------
        splitters
            Kind of the epoch files that contain the counts of splitters. None: there are no
            splitters, and workers receive everything that is read.
        """
        place = self._directory.files.place
        self.tallies = Tallies(None if splitters is None else place(splitters), place(PLACED))

    def after(self, epoch: int) -> None:
        """Plan the next epoch, if the grouping plans epochs."""
        if self._planner is not None:
            self._planner.plan_after(epoch)

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        """Return the fields of a `RunReport`."""
        directory, options = self._directory, self._options
        taken = self.measures.taken
        kept = options.output is not None
        return {
            "dataset": self._name,
            "grouping": str(options.resolved_grouping()),
            "workers": options.workers,
            "sources": self._routers,
            "metrics": self.measures.metrics(),
            "epochs": tuple(self.measures.epochs),
            "timing": outcome.timeline.timing(),
            "seconds": outcome.seconds,
            "lines": taken.lines,
            "rejected": taken.rejected,
            "late": taken.late,
            "overflows": taken.overflows,
            "finished": outcome.finished,
            "results": directory.results if kept and self.sink.keeps_files else None,
            "dead_letters": directory.dead_letters_place if kept else None,
            "state": directory.place("state") if kept else None,
            "table": self.sink.table(),
            **self._by,
        }


def _record(recorder: Recorder, seen: Observed) -> None:
    recorder.record(seen.epoch, seen.figures, seen.hottest)
