"""Choose how a groupBy places keys: as requested, or by the kind of work and the types of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from evenkey.core import spelling
from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import Grouping, KeyGrouping, PlannedGrouping, parse, planner_of
from evenkey.spark.groups.group_keys import unplaceable

if TYPE_CHECKING:
    from evenkey.spark.groups.group_keys import Keys

Wanted = Literal["auto", "whole", "spark", "planned"]


_FOLLOWED = (PlannedGrouping.name, KeyGrouping.name)
"""Names of the groupings that a groupBy accepts; the second is Spark's own placement."""


class Choice(NamedTuple):
    """How keys are placed, and why.

    Parameters
    ----------
    way
        ``whole``: by load, and no key is split. ``planned``: by load, and keys with too much load
        are split. ``spark``: by Spark's own hash.
    why
        Half a sentence with the reason.
    unasked
        Whether the user chose ``auto``, and Spark places the keys because evenkey cannot.
    seconds, error
        Seconds that counting took, if no key was found to be hot, and the bound on its error.
    next_way
        ``whole`` or ``planned``: Spark places the keys of this run, and the run counts its keys for
        a plan of this kind. None: the run counts nothing.
    """

    way: Literal["whole", "planned", "spark"]
    why: str
    unasked: bool = False
    seconds: float = 0.0
    error: float = 0.0
    next_way: Literal["whole", "planned"] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether Spark's own groupBy does all of the work."""
        return self.way == "spark" and self.next_way is None


def read_grouping(grouping: object) -> tuple[Wanted, PlannedGrouping]:
    """Parse the option `grouping`: return the requested way, and the grouping that makes plans.

    Raises
    ------
    ConfigurationError
        A groupBy does not accept this grouping.
    """
    if grouping in ("auto", "whole", "spark"):
        return grouping, PlannedGrouping()
    known = "'auto', 'whole', 'planned' or 'spark'"
    if not isinstance(grouping, str | Grouping):
        message = f"grouping = {shown(grouping)}: must be {known}"
        raise ConfigurationError(message)
    if isinstance(grouping, str) and spelling.parse(grouping)[0] not in _FOLLOWED:
        # The message of `parse` would list groupings that a groupBy does not accept.
        message = f"grouping = {shown(grouping)}: groupBy accepts {known}; pass one of these"
        raise ConfigurationError(message)
    found = parse(grouping)
    if found.native == "hash":
        return "spark", PlannedGrouping()
    planned = planner_of(found)
    if planned is None:
        message = f"grouping = {shown(grouping)}: groupBy accepts {known}; pass one of these"
        raise ConfigurationError(message)
    return "planned", planned


def choose(wanted: Wanted, keys: Keys, workers: int, *, merges: bool) -> Choice:
    """Choose how keys are placed for a function on the rows of each key.

    Parameters
    ----------
    wanted
        The way that the user requested.
    keys
        Key columns.
    workers
        Number of workers.
    merges
        Whether the results on parts of a key can be merged.

    Raises
    ------
    ConfigurationError
        The requested way is not possible.
    """
    if wanted == "planned" and not merges:
        message = (
            "grouping = 'planned': it splits keys, and nothing merges the parts; pass merge= to "
            "applyInPandas or applyInArrow, or grouping='whole'"
        )
        raise ConfigurationError(message)
    if wanted == "spark":
        return Choice("spark", "as requested")
    reason = unplaceable(keys) if keys.names else "there is no key: all rows are one group"
    if reason is not None and wanted != "auto":
        message = f"grouping = {wanted!r}: {reason}; pass grouping='spark'"
        raise ConfigurationError(message)
    if reason is not None:
        return Choice("spark", reason, unasked=bool(keys.names))
    if wanted == "auto" and workers == 1:
        return Choice("spark", "there is one worker")
    if wanted == "planned" or (wanted == "auto" and merges):
        return Choice("planned", "parts are merged, so that keys can be split")
    if merges:
        return Choice("whole", "as requested")
    return Choice("whole", "a key's rows must come together, and nothing merges parts")
