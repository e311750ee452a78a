"""Tallies: check that each step of an epoch received what the previous step passed on.

Each task stores its counts together with its output. So if counts are missing, output is missing,
too. Then either the driver does not see the place where the task wrote, or the store has lost the
output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.core.errors import RunError
from evenkey.core.stores import OUTPUT_REMEDY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.pipeline.runs.output.parts import Part


@dataclass(frozen=True)
class Tallies:
    """The folders in which the steps of a run store their counts.

    Parameters
    ----------
    splitters
        Folder of the splitters' parts, which have counts of the lines read and of the messages
        passed on (rejected lines give no messages). None: no splitters; workers read the source
        directly.
    workers
        Folder of the workers' parts, which have counts of the messages received.
    """

    splitters: str | None
    workers: str

    def check(self, output: str, epoch: str, parts: Sequence[Part], read: int | None) -> None:
        """Check that the counts of an epoch add up.

        Parameters
        ----------
        output, epoch
            Names of the output and the epoch, for the message.
        parts
            The parts of the epoch.
        read
            Number of rows that the source offered; None if this number is unknown before reading.

        Raises
        ------
        RunError
            The counts do not add up.
        """
        held = sum(part.took for part in parts if part.place == self.workers)
        steps = [("its source offered", read), ("workers held", held)]
        if self.splitters is not None:
            split = [part for part in parts if part.place == self.splitters]
            took, gave = sum(part.took for part in split), sum(part.gave for part in split)
            steps[1:1] = [("splitters read", took), ("splitters passed on", gave)]
            adds_up = read in (None, took) and gave == held
        else:
            adds_up = read in (None, held)
        if not adds_up:
            said = ", ".join(f"{step} {count}" for step, count in steps if count is not None)
            message = (
                f"{epoch} of {output}: its tasks counted different numbers of messages ({said}), "
                f"so the driver does not see all files that tasks wrote; {OUTPUT_REMEDY}, then run "
                "the same command again"
            )
            raise RunError(message)
