"""Records of an aggregate's epochs: what the observer saw, and what was rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from evenkey.pipeline.runs import SPLITS

if TYPE_CHECKING:
    from evenkey.pipeline.aggregate.observer import Observed
    from evenkey.pipeline.runs import EpochFiles, Recorder


class AggregateRecords:
    """Gives a recorder the figures of each epoch that the observer took in.

    Parameters
    ----------
    recorder
        Takes them.
    files
        Where splitters count what they rejected.
    """

    def __init__(self, recorder: Recorder, files: EpochFiles) -> None:
        self._recorder = recorder
        self._files = files
        self._rejected = 0

    def add(self, seen: Observed) -> None:
        """Take in an epoch, in order."""
        epoch = seen.epoch.epoch
        self._rejected += self._rejected_in(epoch)
        figures = {
            **seen.run.named(of_epoch=False),
            **seen.epoch.named(of_epoch=True),
            "epoch_loads": seen.loads,
            "rejected": self._rejected,
        }
        self._recorder.record(epoch, figures, seen.hottest)

    def _rejected_in(self, epoch: int) -> int:
        counts = self._files.read(SPLITS, [epoch])
        return 0 if counts is None else int(pc.sum(counts["rejected"]).as_py())
