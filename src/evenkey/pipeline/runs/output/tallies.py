"""Tallies: check that each step of an epoch received what the previous step passed on.

Each task stores its counts with its output. Missing counts reveal lost output: the driver may not
see the place where the task wrote, or the store may have lost it.
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
    """The places of the counts of a run's steps.

    Parameters
    ----------
    splitters
        Place of the splitters' parts, which count lines read and messages passed on, without
        rejected ones. None: workers read the source directly.
    workers
        Place of the workers' parts.
    """

    splitters: str | None
    workers: str

    def check(self, output: str, epoch: str, parts: Sequence[Part], read: int | None) -> None:
        """Check that the counts of an epoch add up.

        Parameters
        ----------
        output, epoch
            Names for the message.
        parts
            The parts of the epoch.
        read
            Rows that its source offered; None if that is unknown before reading.

        Raises
        ------
        RunError
            They do not.
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
