"""Run join pipelines: one configuration in one mode, or in several modes to compare them."""

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
    config: JoinConfig, *, on_progress: OnProgress | None = None, warm_up: bool = False
) -> JoinReport:
    """Run a pipeline until all publications are joined.

    If the output directory contains an unfinished run of the same configuration, `run_join`
    continues that run where it stopped, whatever the reason. If the output directory contains a
    finished run, `run_join` returns its report and does not start Spark.

    Parameters
    ----------
    config
        Configuration of the pipeline.
    on_progress
        Function that is called after each epoch.
    warm_up
        Whether to start the Python workers first, so that measured epochs do not include that time.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, the output contains another run, or another process uses
        the output.
    RunError
        The state of an earlier run, or a static partition, cannot be read; another process took the
        output while this process sent no heartbeat; or Spark's Java process died.

    Examples
    --------
    >>> from evenkey.papers.publish_subscribe import JoinConfig
    >>> config = JoinConfig(pipeline="spis", publications=500, subscriptions=50, workers=2)
    >>> report = run_join(config)  # doctest: +SKIP
    >>> report.finished, report.publications  # doctest: +SKIP
    (True, 500)
    """
    return run(JoinJob(config), on_progress=on_progress, warm_up=warm_up)


def compare_joins(
    config: JoinConfig, modes: Sequence[str], *, on_progress: OnProgress | None = None
) -> list[JoinReport]:
    """Run the same publications under several modes, one after the other in one session.

    Parameters
    ----------
    config
        Configuration of the pipeline; its mode is replaced. If the configuration has an output,
        each mode gets a subdirectory of the output.
    modes
        Names of the modes.
    on_progress
        Function that is called after each epoch.

    Raises
    ------
    ConfigurationError
        The results would be written to a topic, or `run_join` raises the error.

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
    return [run_join(variant, on_progress=on_progress, warm_up=True) for variant in each]
