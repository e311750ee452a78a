"""Run join pipelines: one from its source to its sink, or several modes side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.publish_subscribe.config import JoinConfig
from evenkey.papers.publish_subscribe.join_job import JoinJob
from evenkey.pipeline.options import check_configuration
from evenkey.pipeline.runs import run, variants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.papers.publish_subscribe.report import JoinReport
    from evenkey.pipeline.runs import OnProgress


def run_join(
    config: JoinConfig, *, on_progress: OnProgress | None = None, prepare: bool = True
) -> JoinReport:
    """Run a pipeline until all publications are joined.

    A run whose output directory holds an unfinished run of the same configuration goes on
    where that one stopped, however it stopped. Of a finished run its report is
    given, without Spark.

    Parameters
    ----------
    config
        What to run.
    on_progress
        Called when an epoch has ended.
    prepare
        Whether Python workers are started first, so that no measured epoch pays for it.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, the output holds another run, or another process holds
        the output.
    RunError
        State that an earlier run left, or a static partition, cannot be read; another process took
        the output while this one gave no sign of life; or Spark's Java process died.

    Examples
    --------
    >>> from evenkey.papers.publish_subscribe import JoinConfig
    >>> config = JoinConfig(pipeline="spis", publications=500, subscriptions=50, workers=2)
    >>> report = run_join(config)  # doctest: +SKIP
    >>> report.finished, report.publications  # doctest: +SKIP
    (True, 500)
    """
    return run(JoinJob(config), on_progress=on_progress, prepare=prepare)


def compare_joins(
    config: JoinConfig, modes: Sequence[str], *, on_progress: OnProgress | None = None
) -> list[JoinReport]:
    """Run the same publications under several modes, one after the other in one session.

    Parameters
    ----------
    config
        What to run; its mode is replaced. With an output, each mode gets a subdirectory.
    modes
        Their names.
    on_progress
        Called when an epoch has ended.

    Raises
    ------
    ConfigurationError
        Results would go to a topic, or as for `run_join`.

    Examples
    --------
    >>> from evenkey.papers.publish_subscribe import JoinConfig
    >>> config = JoinConfig(pipeline="spis", publications=500, subscriptions=50, workers=2)
    >>> reports = compare_joins(config, ["dynamic-lb-stal", "static-stal"])  # doctest: +SKIP
    >>> reports[0].matches == reports[1].matches  # doctest: +SKIP
    True
    """
    updates = {mode: {"mode": mode} for mode in modes}
    check_configuration(config, JoinConfig)
    each = variants(config, updates, topic=config.output_kafka)
    return [run_join(variant, on_progress=on_progress) for variant in each]
