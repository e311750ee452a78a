"""Run an application or a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from evenkey.applications.config import ApplicationConfig
from evenkey.pipeline.aggregate import AggregateJob, PipelineConfig
from evenkey.pipeline.learn import LearnConfig, LearnJob
from evenkey.pipeline.options import check_configuration
from evenkey.pipeline.runs import run as run_job

if TYPE_CHECKING:
    from evenkey.pipeline.aggregate import RunReport
    from evenkey.pipeline.learn import Learner, LearningReport
    from evenkey.pipeline.runs import OnProgress


def run(
    config: ApplicationConfig,
    *,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
    prepare: bool = True,
) -> RunReport:
    """Run a configuration until its input is processed.

    If the output directory contains an unfinished run of the same configuration, it continues
    where that run stopped, for whatever reason.

    Parameters
    ----------
    config, on_progress, console, prepare
        As for `evenkey.pipeline.aggregate.run`.

    Returns
    -------
    RunReport
        A `LearningReport` if the application learns.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, or the output contains another run.
    RunError
        The state of an earlier run cannot be read.

    Examples
    --------
    >>> from evenkey.applications import ApplicationConfig
    >>> config = ApplicationConfig(application="decision-tree", messages=500, epochs=2)
    >>> report = run(config)  # doctest: +SKIP
    >>> report.finished, len(report.epochs)  # doctest: +SKIP
    (True, 2)
    """
    check_configuration(config, ApplicationConfig)
    resolved = config.resolved()
    learner = config.learner()
    if isinstance(resolved, LearnConfig) and learner is not None:
        return run_learner(learner, resolved, on_progress=on_progress, prepare=prepare)
    assert isinstance(resolved, PipelineConfig)  # noqa: S101 - there is no third kind
    return run_job(AggregateJob(resolved, console), on_progress=on_progress, prepare=prepare)


def run_learner(
    learner: Learner[Any],
    config: LearnConfig,
    *,
    on_progress: OnProgress | None = None,
    prepare: bool = True,
) -> LearningReport:
    """Run a learner, perhaps one of your own, until its records are processed.

    Parameters
    ----------
    learner
        The learner.
    config
        Its records and options.
    on_progress, prepare
        As for `run`.

    Raises
    ------
    ConfigurationError, RunError
        As for `run`.

    Examples
    --------
    >>> from evenkey.applications import LearnConfig, NaiveBayes
    >>> config = LearnConfig(dataset="documents", messages=500, epochs=2)
    >>> report = run_learner(NaiveBayes(), config)  # doctest: +SKIP
    >>> report.finished, len(report.learned)  # doctest: +SKIP
    (True, 2)
    """
    return run_job(LearnJob(learner, config), on_progress=on_progress, prepare=prepare)
