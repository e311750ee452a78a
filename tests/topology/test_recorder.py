"""The recorder: how an exporter hears that a run ended, however it ended."""

from __future__ import annotations

import pytest

from evenkey.exporters import Exports, History
from evenkey.runs.epoch_files import EpochFiles
from evenkey.runs.recorder import Recorder
from tests.exporters.records import RUN


@pytest.mark.parametrize(
    ("error", "ending"), [(ValueError, "failed"), (KeyboardInterrupt, "paused")]
)
def test_an_error_and_an_interruption_end_the_history(tmp_path, error, ending):
    exports = Exports([], RUN, history=tmp_path)
    with pytest.raises(error), Recorder(exports, EpochFiles(tmp_path)):
        raise error
    ended = History(tmp_path).ended()
    assert ended is not None
    assert ended[0] == ending


def test_a_run_that_ended_by_itself_is_not_ended_again(tmp_path):
    exports = Exports([f"parquet:{tmp_path}"], RUN)
    with Recorder(exports, EpochFiles(tmp_path)) as recorder:
        (summary,) = recorder.close("finished")
    assert summary.points == 0
    ended = History(tmp_path / RUN.run).ended()
    assert ended is not None
    assert ended[0] == "finished"
