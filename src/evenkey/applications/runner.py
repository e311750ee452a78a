"""Run an application, or a pipeline of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from evenkey.applications.config import ApplicationConfig
from evenkey.checking import shown
from evenkey.errors import ConfigurationError
from evenkey.pipelines.aggregate import run as run_pipeline
from evenkey.pipelines.learn.job import LearnerJob

if TYPE_CHECKING:
    from evenkey.runs.report import OnProgress, RunReport

__all__ = ["run"]


def run(
    config: ApplicationConfig,
    *,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
    prepare: bool = True,
) -> RunReport:
    """Run what a configuration says until its input is processed.

    A run whose output directory holds an unfinished run of the same configuration goes on
    where that one stopped, however it stopped.

    Parameters
    ----------
    config, on_progress, console, prepare
        As for `evenkey.pipelines.aggregate.run`.

    Returns
    -------
    RunReport
        A `LearningReport` if the application learns.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, or the output holds another run.
    RunError
        State that an earlier run left cannot be read.
    """
    if not isinstance(config, ApplicationConfig):
        message = f"config = {shown(config)}: pass an ApplicationConfig(...)"
        raise ConfigurationError(message)
    learner = config.learner()
    if learner is None:
        return run_pipeline(
            config.pipeline(), on_progress=on_progress, console=console, prepare=prepare
        )
    job = LearnerJob(learner)
    return run_pipeline(config, on_progress=on_progress, prepare=prepare, job=job)
