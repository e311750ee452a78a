"""What all tests share: one Spark session for the whole run, and Hypothesis without deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Times are measured by benchmarks, never asserted by tests; the same examples run every time.
hypothesis.settings.register_profile("evenkey", deadline=None, derandomize=True)
hypothesis.settings.load_profile("evenkey")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One small Spark: 4 task slots, 4 shuffle partitions, and no task gets a second chance."""
    from evenkey.spark.session import session

    directory = tmp_path_factory.mktemp("spark")
    small = session(
        "local[4]",
        {
            "spark.local.dir": str(directory / "local"),
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
            "spark.sql.warehouse.dir": str(directory / "warehouse"),
        },
    )
    yield small
    small.stop()
