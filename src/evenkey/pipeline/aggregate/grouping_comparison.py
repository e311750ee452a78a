"""Compare several groupings by running the same stream under each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.pipeline.aggregate.aggregate_job import AggregateJob
from evenkey.pipeline.aggregate.config import PipelineConfig
from evenkey.pipeline.options import check_configuration
from evenkey.pipeline.runs import run, variants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.pipeline.aggregate.report import RunReport
    from evenkey.pipeline.runs import OnProgress


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
        Spellings of groupings, such as ``pkg(choices=3)``.
    on_progress
        Function that is called when an epoch has ended; None: no calls.

    Raises
    ------
    ConfigurationError
        Results would go to a topic, or `evenkey.run` would raise this error.

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
    return [run(AggregateJob(variant), on_progress=on_progress, warm_up=True) for variant in each]


def _directory(grouping: str) -> str:
    return "".join(each if each.isalnum() or each in "-_=." else "_" for each in grouping)
