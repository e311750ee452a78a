"""Run a pipeline, an application, or a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO, overload

from evenkey.applications.config import ApplicationConfig
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.aggregate import AggregateJob, PipelineConfig
from evenkey.pipeline.learn import LearnConfig, LearnJob
from evenkey.pipeline.runs import run as run_job

if TYPE_CHECKING:
    from evenkey.pipeline.aggregate import RunReport
    from evenkey.pipeline.learn import Learner, LearningReport
    from evenkey.pipeline.runs import OnProgress


@overload
def run(
    config: PipelineConfig | ApplicationConfig,
    *,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
    warm_up: bool = False,
) -> RunReport: ...
@overload
def run(
    config: LearnConfig,
    *,
    learner: Learner[Any],
    on_progress: OnProgress | None = None,
    warm_up: bool = False,
) -> LearningReport: ...
def run(
    config: PipelineConfig | ApplicationConfig | LearnConfig,
    *,
    learner: Learner[Any] | None = None,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
    warm_up: bool = False,
) -> RunReport:
    """Run a pipeline or an application until its input is processed and its windows are closed.

    If the output directory contains an unfinished run of the same configuration, `run` continues
    that run where it stopped, whatever the reason. No message is lost or counted twice. If the
    output directory contains a finished run, `run` returns its report and does not start Spark.

    Parameters
    ----------
    config
        A `PipelineConfig` or an `evenkey.applications.ApplicationConfig`; or, with a `learner`, a
        `evenkey.applications.LearnConfig`.
    learner
        The learner for the records of a `LearnConfig`, such as your own
        `evenkey.applications.Learner`.
    on_progress
        Function that is called after each epoch.
    console
        Text stream that the console sink prints to. None: standard output.
    warm_up
        Whether to run a small stream first. Python workers start and kernels are loaded in this
        stream, so measured epochs do not include that time; but the first results come later.

    Returns
    -------
    RunReport or LearningReport
        The report, with a summary of each exporter. A learner's run returns a `LearningReport`. It
        extends `RunReport` by `application` (the spelling of the learner), `learned` (figures of
        each epoch), `model` (the last model) and `model_file` (its path or URI, None without an
        output).

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

    >>> from evenkey.applications import LearnConfig, NaiveBayes
    >>> config = LearnConfig(dataset="documents", messages=500, epochs=2)
    >>> report = run(config, learner=NaiveBayes())  # doctest: +SKIP
    >>> report.finished, len(report.learned)  # doctest: +SKIP
    (True, 2)
    """
    if isinstance(config, ApplicationConfig):
        learner, config = config.learner(), config.resolved()
    if isinstance(config, LearnConfig):
        if learner is None:
            message = "learner = None: a LearnConfig needs a learner; pass learner=NaiveBayes()"
            raise ConfigurationError(message)
        return run_job(LearnJob(learner, config), on_progress=on_progress, warm_up=warm_up)
    return run_job(AggregateJob(config, console), on_progress=on_progress, warm_up=warm_up)
