"""The rule that says which right row a left row matches: direction, tolerance and equal times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from pyspark.sql import functions as F

from evenkey.core.checking import check_one_of
from evenkey.spark.asof.both_sides import AFTER_LEFT, BEFORE_LEFT, TIME
from evenkey.spark.asof.match_windows import Search
from evenkey.spark.asof.time_distances import check_distances, check_tolerance, distance, limit

if TYPE_CHECKING:
    import datetime as dt
    from decimal import Decimal

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

Direction = Literal["backward", "forward", "nearest"]


@dataclass(frozen=True)
class MatchRule:
    """The rule of a match.

    Parameters
    ----------
    direction, tolerance, allow_exact_matches
        As for `asof_join`.

    Raises
    ------
    ConfigurationError
        An argument is not one of its values.
    """

    direction: Direction
    tolerance: float | Decimal | dt.timedelta | None
    allow_exact_matches: bool

    def __post_init__(self) -> None:
        """Check the arguments that do not depend on the type of the times."""
        check_one_of("direction", self.direction, get_args(Direction))
        check_one_of("allow_exact_matches", self.allow_exact_matches, (True, False))

    def check(self, kind: DataType) -> None:
        """Check that the rule suits the type of the times.

        Raises
        ------
        ConfigurationError
            It does not.
        """
        if self.tolerance is not None:
            check_tolerance(self.tolerance, kind)
        if self.tolerance is not None or self.direction == "nearest":
            check_distances(kind)

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches for right rows that the rule needs.

        A search backward finds right rows of the same time if they are placed before the left row,
        and a search forward if they are placed after it. Where both run, one of them suffices.
        """
        exact = self.allow_exact_matches
        if self.direction == "forward":
            return (Search(backward=False, position=AFTER_LEFT if exact else BEFORE_LEFT),)
        backward = Search(backward=True, position=BEFORE_LEFT if exact else AFTER_LEFT)
        if self.direction == "backward":
            return (backward,)
        return (backward, Search(backward=False, position=BEFORE_LEFT))

    def match(self, kind: DataType) -> Column:
        """Return the match of a left row, from the columns of the searches; null: there is none.

        Parameters
        ----------
        kind
            Type of the times.
        """
        found, *others = (self._within(each, kind) for each in self.searches)
        if not others:
            return found
        (after,) = others
        to_before = _distance(found, kind, backward=True)
        to_after = _distance(after, kind, backward=False)
        # The distance to a row may not fit its type; then the row on the other side is nearer.
        only_after = found.isNull() | (to_before.isNull() & after.isNotNull())
        is_after = F.coalesce(to_after < to_before, only_after)
        return F.when(is_after, after).otherwise(found)

    def _within(self, search: Search, kind: DataType) -> Column:
        found = F.col(search.name)
        if self.tolerance is None:
            return found
        to_match = _distance(found, kind, backward=search.backward)
        return F.when(to_match <= limit(self.tolerance, kind), found)


def _distance(match: Column, kind: DataType, *, backward: bool) -> Column:
    own, other = F.col(TIME), match.getField(TIME)
    return distance(own, other, kind) if backward else distance(other, own, kind)
