"""What an epoch's progress says of the metrics that its query observes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Row


def observed_metrics(progress: Mapping[str, Any], beginning: str) -> list[dict[str, Any]]:
    """Give the figures of those metrics whose names begin so.

    Parameters
    ----------
    progress
        One of ``query.recentProgress``. Over Connect it may lack a figure that is null.
    """
    observed = progress.get("observedMetrics") or {}
    return [_figures(row) for name, row in observed.items() if name.startswith(beginning)]


def _figures(row: Row) -> dict[str, Any]:
    figures = row.asDict()
    if figures.keys() != {"values", "schema"}:
        return figures
    # A Connect server says of a query that is asked what it measured, and PySpark leaves it so.
    names = [field["name"] for field in figures["schema"]["fields"]]
    return dict(zip(names, figures["values"], strict=True))
