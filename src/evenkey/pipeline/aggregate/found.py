"""What a pipeline reads, found without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evenkey.core.streams import Splitter
    from evenkey.pipeline.runs import Reading


class FoundInput(NamedTuple):
    """What a configuration reads, found without Spark.

    Parameters
    ----------
    name
        The dataset's name, or the paths.
    reading
        Gives rows by position; None for topics, which Spark's own connector reads.
    splitter
        Takes lines apart; None where the rows bear keys.
    """

    name: str
    reading: Reading | None
    splitter: Splitter | None
