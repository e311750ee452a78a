"""Observed metrics in a query's progress, in the forms of classic and Connect sessions."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from evenkey.spark.keys.observed import observed_metrics

# The form of PySpark 4.3 over Connect; in a classic session the row has names.
OVER_CONNECT = Row(
    values=[None, 7], schema={"type": "struct", "fields": [{"name": "late"}, {"name": "rows"}]}
)


@pytest.mark.parametrize("row", [Row(late=None, rows=7), OVER_CONNECT])
def test_figures_are_found_by_the_beginning_of_the_metrics_name(row):
    progress = {"observedMetrics": {"ours-1": row, "another": Row(rows=1)}}
    assert observed_metrics(progress, "ours-") == [{"late": None, "rows": 7}]


def test_an_epoch_without_metrics_has_none():
    assert observed_metrics({}, "ours-") == []
