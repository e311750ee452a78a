"""Tallies: whether what each step of an epoch took in is what the step before it passed on.

Each task leaves its tally with what it writes. A tally that is missing, since the driver does not
see where the task wrote it or the store lost it, is a message that nobody would miss otherwise.
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
    """Where the steps of a run leave their tallies.

    Parameters
    ----------
    splitters
        Place of the parts of those who read the source, and pass messages on; rejected ones are
        not among these. None: workers take what the source has.
    workers
        Place of the parts of those who hold the messages.
    """

    splitters: str | None
    workers: str

    def check(self, output: str, epoch: str, parts: Sequence[Part], read: int | None) -> None:
        """Make sure that an epoch adds up.

        Parameters
        ----------
        output, epoch
            For the message.
        parts
            The epoch's.
        read
            How many rows its source offered; None where that cannot be known before it is read.

        Raises
        ------
        RunError
            It does not.
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
                f"{epoch} of {output} does not add up ({said}): not all that tasks wrote is seen; "
                f"{OUTPUT_REMEDY}, then give the same command again"
            )
            raise RunError(message)
