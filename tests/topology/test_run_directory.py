"""What an earlier process left half done in the directory of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenkey.runs.directory import RunDirectory


@pytest.mark.parametrize(("log", "kept"), [(".0.9f25.tmp", False), ("0", True)])
def test_a_checkpoint_without_an_epoch_is_not_gone_on_from(tmp_path, log, kept):
    # Spark refuses it for good: the process was killed while it wrote down its first epoch.
    checkpoint = Path(RunDirectory(tmp_path).checkpoint)
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "metadata").write_text("{}")
    (checkpoint / "offsets" / log).write_text("v1")
    with RunDirectory.opened(tmp_path):
        assert checkpoint.exists() == kept
