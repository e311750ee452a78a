"""Runs over users' files: null is a key, and an overflow does not stop a run."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkey import PipelineConfig, run
from tests.tiers import most_in_soak

HUGE = (1 << 63) - 1
ROWS = [("a", HUGE), ("a", HUGE), (None, 3), (None, 4), ("b", 5), ("", 6), ("c", HUGE)]


@pytest.mark.slow(4)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("grouping", most_in_soak(["pkg", "planned"], 4, slow=["planned"]))
def test_null_is_a_key_and_a_sum_that_does_not_fit_is_null(tmp_path, grouping):
    keys, counts = zip(*ROWS, strict=True)
    table = pa.table({"k": pa.array(keys, pa.string()), "n": pa.array(counts, pa.int64())})
    pq.write_table(table, tmp_path / "in.parquet")
    config = PipelineConfig(
        input=tmp_path / "in.parquet",
        key="k",
        count="n",
        aggregator="sum(column=count)",
        aggregator_window=1000.0,
        worker_window=1000.0,
        grouping=grouping,
        workers=3,
        sources=2,
        aggregators=2,
        epochs=1,
        output=tmp_path / "out",
        sink="memory",
    )
    report = run(config)
    assert report.table is not None
    sums = {row["k"]: row["sum"] for row in report.table.to_pylist()}
    assert sums == {"a": None, None: 7, "b": 5, "c": HUGE}
    assert (report.finished, report.lines, report.rejected) == (True, 7, 1)
    assert report.overflows == report.to_json()["overflows"] == 1
    assert report.metrics.keys == 4
