"""Spark's own logs in a checkpoint, valid and damaged."""

from __future__ import annotations

import pytest

from evenkey.core.errors import RunError
from evenkey.core.stores import LocalStore
from evenkey.pipeline.runs.output.spark_logs import SparkLogs

SOUND = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1500,"conf":{}}\n{"end": 7}\n-\n'


def logs(directory, content):
    (directory / "offsets").mkdir()
    (directory / "offsets" / "3").write_text(content)
    return SparkLogs(LocalStore(str(directory)))


def test_an_epoch_is_read_as_spark_wrote_it(tmp_path):
    read = logs(tmp_path, SOUND)
    assert read.begun(3) == (1.5, [{"end": 7}, None])
    assert read.begun(4) is None


@pytest.mark.parametrize("content", ["", "v1\n", SOUND[:30], "v1\n{}\n", "v1\n[]\n", SOUND + "{"])
def test_a_damaged_entry_is_named(tmp_path, content):
    with pytest.raises(RunError, match=r"offsets/3 is corrupt \(.*start again with a new output"):
        logs(tmp_path, content).begun(3)
