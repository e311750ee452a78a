"""Which way the keys of a groupBy go: as the user says, or by the work and the keys."""

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
"""Names of the groupings that a groupBy can follow; the second is Spark's own placement."""


class Choice(NamedTuple):
    """What becomes of keys, and why.

    Parameters
    ----------
    way
        ``whole``: placed, none split; ``planned``: split where they must be; ``spark``: Spark's own
        hash.
    why
        Half a sentence.
    unasked
        Whether keys are not placed because of what they are, though the user left it to us.
    """

    way: Literal["whole", "planned", "spark"]
    why: str
    unasked: bool = False


def read_grouping(grouping: object) -> tuple[Wanted, PlannedGrouping]:
    """Read what the user wants, and the grouping that plans.

    Raises
    ------
    ConfigurationError
        It is none of those that a groupBy can follow.
    """
    if grouping in ("auto", "whole", "spark"):
        return grouping, PlannedGrouping()
    known = "'auto', 'whole', 'planned' or 'spark'"
    if not isinstance(grouping, str | Grouping):
        message = f"grouping = {shown(grouping)}: must be {known}"
        raise ConfigurationError(message)
    if isinstance(grouping, str) and spelling.parse(grouping)[0] not in _FOLLOWED:
        # Not the words of `parse`, which lists groupings that no groupBy follows.
        message = f"grouping = {shown(grouping)}: a groupBy follows {known}; pass one of these"
        raise ConfigurationError(message)
    found = parse(grouping)
    if found.native == "hash":
        return "spark", PlannedGrouping()
    planned = planner_of(found)
    if planned is None:
        message = f"grouping = {shown(grouping)}: a groupBy follows {known}; pass one of these"
        raise ConfigurationError(message)
    return "planned", planned


def choose(wanted: Wanted, keys: Keys, workers: int, *, merges: bool) -> Choice:
    """Choose the way for work on the rows of a key.

    Parameters
    ----------
    wanted
        By the user.
    keys
        Their columns.
    workers
        How many there are.
    merges
        Whether the work on parts of a key can be merged.

    Raises
    ------
    ConfigurationError
        What is wanted cannot be.
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
