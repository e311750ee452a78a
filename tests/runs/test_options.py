"""Options that all runs share: their bounds, and what is checked before a run."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.options.input_options import EpochOptions
from evenkey.pipeline.options.run_options import RunOptions


def test_a_stream_may_be_one_epoch_of_one_message():
    options = EpochOptions(epochs=1, epoch_messages=1)
    assert (options.epochs, options.epoch_messages) == (1, 1)
    for name in ("epochs", "epoch_messages"):
        with pytest.raises(ConfigurationError, match=name):
            EpochOptions(**{name: 0})


def test_an_output_is_checked_if_there_is_one(tmp_path):
    RunOptions().check_paths()
    RunOptions(output=tmp_path / "out").check_paths()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="directory"):
        RunOptions(output=tmp_path / "file").check_paths()
