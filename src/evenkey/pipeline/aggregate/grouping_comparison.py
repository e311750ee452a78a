"""Run a pipeline, or compare several groupings."""

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

    If the output directory contains an unfinished run of the same configuration, it continues
    where that run stopped, for whatever reason; nothing is lost or counted twice. For a finished
    run it returns the report, without Spark.

    Parameters
    ----------
    config
        The pipeline.
    on_progress
        Called when an epoch has ended.
    console
        Where the console sink prints; None is standard output.
    prepare
        Whether to run a small stream first, so that measured epochs do not include the start of
        Python workers and the loading of kernels.

    Returns
    -------
    RunReport
        With a summary of each exporter.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, the output contains another run, or another process uses
        the output.
    RunError
        The state of an earlier run cannot be read, another process took the output while this
        process sent no heartbeat, or Spark's Java process died.

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
        The pipeline; its grouping is replaced. With an output, each grouping gets its own
        subdirectory. Results cannot go to a topic.
    groupings
        Spellings of groupings.
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
    return "".join(each if each.isalnum() or each in "-_=." else "_" for each in grouping)
