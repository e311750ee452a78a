"""Read the metrics that a query observes from the progress of an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Row


def observed_metrics(progress: Mapping[str, Any], beginning: str) -> list[dict[str, Any]]:
    """Return the values of all metrics whose names start with `beginning`.

    Parameters
    ----------
    progress
        Element of ``query.recentProgress``. Over Connect, null values may be missing in the result.
    """
    observed = progress.get("observedMetrics") or {}
    return [_figures(row) for name, row in observed.items() if name.startswith(beginning)]


def _figures(row: Row) -> dict[str, Any]:
    figures = row.asDict()
    if figures.keys() != {"values", "schema"}:
        return figures
    # Over Connect, PySpark returns the server's answer as it is: a list of values, and a schema.
    names = [field["name"] for field in figures["schema"]["fields"]]
    return dict(zip(names, figures["values"], strict=True))
