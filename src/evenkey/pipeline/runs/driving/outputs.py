"""Where a run keeps its directory: in an output, where later processes find it, or nowhere."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Parquet
from evenkey.pipeline.runs.driving.progress import announce
from evenkey.pipeline.runs.input.input_files import check_same_input, digested
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.output_location import below, on_a_disk, output_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store
    from evenkey.pipeline.exporters import Exporter, RunInfo
    from evenkey.pipeline.options import RunOptions
    from evenkey.pipeline.runs.driving.job import Job, Output, ReportT
    from evenkey.pipeline.runs.driving.progress import OnProgress

    OptionsT = TypeVar("OptionsT", bound=RunOptions)
    KeepInput: TypeAlias = Callable[[RunDirectory], None]


def output_of(place: str | Path | None) -> Output:
    """Return the output at a location; None: nothing is kept after the run."""
    return Unkept() if place is None else Kept(place)


def _keep_nothing(directory: RunDirectory) -> None:
    del directory


class Unkept:
    """A temporary directory, which is deleted after the run."""

    needs_spark = False

    def finished(
        self, job: Job[ReportT], spark: SparkSession | None, on_progress: OnProgress | None
    ) -> ReportT | None:
        """Return None: there is no earlier run."""
        del job, spark, on_progress
        return None

    def opened(self, spark: SparkSession | None) -> contextlib.AbstractContextManager[RunDirectory]:
        """Open a temporary directory."""
        del spark
        return RunDirectory.opened(None)

    def digested(
        self, job: Job[ReportT], directory: RunDirectory
    ) -> contextlib.AbstractContextManager[KeepInput]:
        """Yield a function that does nothing, because no later process compares the files."""
        del job, directory
        return contextlib.nullcontext(_keep_nothing)

    def history(self, directory: RunDirectory) -> None:
        """Return None: the run has no history."""
        del directory

    def exporter(self, directory: RunDirectory) -> None:
        """Return None: there is no history to write."""
        del directory


@dataclass
class Kept:
    """An output: a location where later processes find the run.

    Parameters
    ----------
    place
        A path or a URI. Spark's settings determine how the store at a URI is reached.
    """

    place: str | Path
    _reached: Store | None = None

    @property
    def needs_spark(self) -> bool:
        """Whether the place is a URI."""
        return not on_a_disk(self.place)

    def finished(
        self, job: Job[ReportT], spark: SparkSession | None, on_progress: OnProgress | None
    ) -> ReportT | None:
        """Return the report of the finished run; its input and layout must be those of the job."""
        options = job.options
        directory = RunDirectory(self._store(spark))
        directory.check(options.manifest(), options.free(), options.pinned())
        record = directory.finished()
        if record is None:
            return None
        directory.check_layout(options.manifest(), options.layout().keys())
        check_same_input(directory.store, job.input_files())
        if changed := directory.changes(options.manifest()):
            announce(on_progress, job.name, "already finished", f": {'; '.join(changed.values())}")
        return job.restored(record, directory)

    def opened(self, spark: SparkSession | None) -> contextlib.AbstractContextManager[RunDirectory]:
        """Open and hold the directory in the output."""
        return RunDirectory.opened(self._store(spark))

    def digested(
        self, job: Job[ReportT], directory: RunDirectory
    ) -> contextlib.AbstractContextManager[KeepInput]:
        """Note the input files, unless an earlier process has stored their digests."""
        if directory.begun:
            return contextlib.nullcontext(_keep_nothing)
        return digested(job.input_files())

    def history(self, directory: RunDirectory) -> Store:
        """Return the store of the history in the directory."""
        return directory.history

    def exporter(self, directory: RunDirectory) -> Callable[[RunInfo], Exporter]:
        """Return a function that makes the exporter of the history."""
        return partial(Parquet, directory.history, held=lambda: directory.claim.held)

    def _store(self, spark: SparkSession | None) -> Store:
        if self._reached is None:
            self._reached = output_store(self.place, spark)
        return self._reached


def variants(
    options: OptionsT, updates: Mapping[str, Mapping[str, object]], *, topic: str | None
) -> list[OptionsT]:
    """Return the options of the runs of a comparison; each run has its own directory.

    All directories are checked first, so that an error does not appear only after hours of runs.

    Parameters
    ----------
    options
        The common options.
    updates
        The options that differ in each run, by the name of the run's directory in the output.
    topic
        The topic for results; None: no topic.

    Raises
    ------
    ConfigurationError
        Results would go to a topic, or a directory on a disk contains another run.
    """
    if topic is not None:
        message = (
            f"output_kafka = {topic!r}: each run of a comparison would send the same results to "
            "the topic; leave out output_kafka"
        )
        raise ConfigurationError(message)
    made = []
    for name, update in updates.items():
        output = None if options.output is None else below(options.output, name)
        made.append(options.with_options(**{**update, "output": output}))
    for each in made:
        # A URI may need Spark's settings, so it is checked when its run starts.
        if each.output is not None and on_a_disk(each.output):
            RunDirectory(output_store(each.output)).check(
                each.manifest(), each.free(), each.pinned()
            )
    return made
