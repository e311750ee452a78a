"""Run a pipeline, or several groupings side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from evenkey.pipeline.aggregate.aggregate_job import AggregateJob
from evenkey.pipeline.aggregate.config import PipelineConfig
from evenkey.pipeline.options import check_configuration
from evenkey.pipeline.runs import run as run_job
from evenkey.pipeline.runs import variants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.pipeline.aggregate.report import RunReport
    from evenkey.pipeline.runs import OnProgress


def run(
    config: PipelineConfig,
    *,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
    prepare: bool = True,
) -> RunReport:
    """Run a pipeline until its input is processed and its windows are closed.

    A run whose output directory holds an unfinished run of the same configuration goes on
    where that one stopped, however it stopped; nothing is lost and nothing counted twice. Of a
    finished run its report is given, without Spark.

    Parameters
    ----------
    config
        What to run.
    on_progress
        Called when an epoch has ended.
    console
        Where the console sink prints; None is standard output.
    prepare
        Whether to run a small stream first, so that no measured epoch pays for starting
        Python workers and loading kernels.

    Returns
    -------
    RunReport
        With what became of the points of each exporter.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, the output holds another run, or another process holds
        the output.
    RunError
        State that an earlier run left cannot be read, another process took the output while this
        one gave no sign of life, or Spark's Java process died.

    Examples
    --------
    >>> from evenkey import PipelineConfig
    >>> config = PipelineConfig(dataset="country-skew-r80", messages=1000, epochs=1, workers=2)
    >>> report = run(config.with_options(grouping="planned"))  # doctest: +SKIP
    >>> report.finished, report.metrics.messages  # doctest: +SKIP
    (True, 1000)
    """
    return run_job(AggregateJob(config, console), on_progress=on_progress, prepare=prepare)


def compare(
    config: PipelineConfig,
    groupings: Sequence[str],
    *,
    on_progress: OnProgress | None = None,
) -> list[RunReport]:
    """Run the same stream under several groupings, one after the other in one session.

    Parameters
    ----------
    config
        What to run; its grouping is replaced. With an output, each grouping gets a
        subdirectory of its own. Results cannot go to a topic.
    groupings
        Spellings.
    on_progress
        Called when an epoch has ended.

    Raises
    ------
    ConfigurationError
        Results would go to a topic, or as for `run`.

    Examples
    --------
    >>> from evenkey import PipelineConfig
    >>> config = PipelineConfig(dataset="country-skew-r80", messages=1000, epochs=1, workers=2)
    >>> reports = compare(config, ["kg", "sg"])  # doctest: +SKIP
    >>> [report.metrics.max_over_mean > 1.5 for report in reports]  # doctest: +SKIP
    [True, False]
    """
    check_configuration(config, PipelineConfig)
    sink = {"sink": "memory"} if config.output is None else {"sink": config.sink}
    updates = {_directory(grouping): {"grouping": grouping, **sink} for grouping in groupings}
    each = variants(config, updates, topic=config.output_kafka)
    return [run(variant, on_progress=on_progress) for variant in each]


def _directory(grouping: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_=." else "_" for letter in grouping)
