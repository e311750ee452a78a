"""Groupings: the rules that assign each message to a worker.

>>> import numpy as np
>>> from evenkey.groupings import PartialKeyGrouping
>>> router = PartialKeyGrouping(choices=3).router(workers=8)
>>> router.route(np.arange(4, dtype=np.uint64)).tolist()
[0, 1, 2, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.core.spelling import classes_of, read
from evenkey.groupings.base import Grouping, Router
from evenkey.groupings.base import Snapshot as Snapshot
from evenkey.groupings.dynamic_key import DynamicKeyGrouping
from evenkey.groupings.heads import DChoices, WChoices
from evenkey.groupings.key import KeyGrouping
from evenkey.groupings.message_weights import By as By
from evenkey.groupings.partial_key import PartialKeyGrouping
from evenkey.groupings.planned import PlannedGrouping
from evenkey.groupings.shuffle import ShuffleGrouping
from evenkey.groupings.tables import (
    CardinalityAffinity as CardinalityAffinity,
)
from evenkey.groupings.tables import (
    OfflineGreedy as OfflineGreedy,
)
from evenkey.groupings.tables import (
    OnlineGreedy as OnlineGreedy,
)
from evenkey.groupings.tables import (
    StaticChoices as StaticChoices,
)

if TYPE_CHECKING:
    from evenkey.groupings.greedy import heaviest_first as heaviest_first
    from evenkey.groupings.message_weights import MOST_WEIGHT as MOST_WEIGHT
    from evenkey.groupings.message_weights import limited as limited
    from evenkey.groupings.planned import OFFSET as OFFSET
    from evenkey.groupings.planned import OWNER_BITS as OWNER_BITS
    from evenkey.groupings.planned import KeyCounts as KeyCounts
    from evenkey.groupings.planned import KeyStatistics as KeyStatistics
    from evenkey.groupings.planned import Plan as Plan
    from evenkey.groupings.planned import compile_plan as compile_plan
    from evenkey.groupings.planned import make_plan as make_plan
    from evenkey.groupings.planned import planner_of as planner_of
    from evenkey.groupings.planned import unplanned as unplanned
    from evenkey.groupings.planned import whole_plan as whole_plan

__all__ = [
    "DChoices",
    "DynamicKeyGrouping",
    "Grouping",
    "KeyGrouping",
    "PartialKeyGrouping",
    "PlannedGrouping",
    "Router",
    "ShuffleGrouping",
    "WChoices",
]

__getattr__ = lazy_names(__name__)


def available() -> dict[str, type[Grouping]]:
    """Return all grouping classes by name; importing `evenkey.papers` adds further classes.

    Examples
    --------
    >>> {"cam", "dchoices", "dkg", "kg", "planned", "wchoices"} <= {*available()}
    True
    """
    return {each.name: each for each in classes_of(Grouping)}


def parse(text: str | Grouping) -> Grouping:
    """Read a grouping from its spelling, such as ``dkg`` or ``pkg(choices=3)``.

    A `Grouping` is returned unchanged.

    Raises
    ------
    ConfigurationError
        The grouping or the parameter does not exist, or a value is invalid. The message lists what
        is valid.

    Examples
    --------
    >>> parse("pkg(choices=3)")
    PartialKeyGrouping(choices=3, variant='storm')
    """
    if isinstance(text, Grouping):
        return text
    return read("grouping", text, available(), more=available)
