"""Kinds of joins: which rows they keep, and how many result rows a key has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as F

from evenkey.core.checking import check_one_of, check_text
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Weigh = Literal["output", "rows"]
"""What counts as work of a key. ``output``: the key's rows in the result, plus a tenth of the key's
rows on both sides. ``rows``: the key's rows on both sides."""


_OF_STREAM = {"left": ("inner", "left", "semi", "anti"), "right": ("inner", "right")}
"""Kinds of joins of a stream with a batch that Spark supports, by the side of the stream."""


@dataclass(frozen=True)
class Kind:
    """A kind of join.

    Parameters
    ----------
    name
        Name of the kind, as Spark spells it.
    keeps_left, keeps_right
        Whether the result has the rows of the left or right side that have no match. For ``semi``,
        `keeps_left` is True although the result does not have these rows.
    """

    name: str
    keeps_left: bool
    keeps_right: bool

    @property
    def tests_only(self) -> bool:
        """Whether the right side only determines which left rows are in the result."""
        return self.name in ("semi", "anti")

    @property
    def nulls_of_left(self) -> bool:
        """Whether left rows with a null key, which never have a match, are in the result."""
        return self.keeps_left and self.name != "semi"

    def output(self, left: Column, right: Column) -> Column:
        """Compute the number of result rows of a key from its number of rows on each side."""
        one = F.lit(1)
        if self.tests_only:
            return F.when((right > 0) == F.lit(self.name == "semi"), left).otherwise(0)
        some_left = F.greatest(left, one) if self.keeps_right else left
        some_right = F.greatest(right, one) if self.keeps_left else right
        # As doubles: products of large counts do not fit into a bigint.
        return some_left.cast("double") * some_right

    def check_streams(self, left: DataFrame, right: DataFrame) -> None:
        """Check that Spark supports the kind of join if a side is a stream.

        Raises
        ------
        ConfigurationError
            Spark does not support this kind of join with a stream, or both sides are streams.
        """
        if left.isStreaming and right.isStreaming:
            message = (
                "left and right are streams: evenkey joins a stream with a batch; use Spark's own "
                "left.join(right, ...) with watermarks"
            )
            raise ConfigurationError(message)
        if not left.isStreaming and not right.isStreaming:
            return
        side = "left" if left.isStreaming else "right"
        if self.name not in _OF_STREAM[side]:
            message = (
                f"how = {self.name!r}: Spark has no such join with a stream on the {side}, as a "
                f"later epoch may bring a match; use {', '.join(_OF_STREAM[side])}"
            )
            raise ConfigurationError(message)


_KINDS = (
    Kind("inner", keeps_left=False, keeps_right=False),
    Kind("left", keeps_left=True, keeps_right=False),
    Kind("right", keeps_left=False, keeps_right=True),
    Kind("full", keeps_left=True, keeps_right=True),
    Kind("semi", keeps_left=True, keeps_right=False),
    Kind("anti", keeps_left=True, keeps_right=False),
)
_SPELLINGS = {"outer": "full"}
_SPELLINGS |= {f"{side}outer": side for side in ("left", "right", "full")}
_SPELLINGS |= {f"left{test}": test for test in ("semi", "anti")}


def kind_of(how: object) -> Kind:
    """Return a kind of join by any of the names that Spark has for it.

    Raises
    ------
    ConfigurationError
        `how` is not a kind of join on columns.

    Examples
    --------
    >>> kind_of("LEFT_OUTER").name, kind_of("leftanti").name, kind_of("outer").name
    ('left', 'anti', 'full')
    """
    check_text("how", how, "inner")
    plain = str(how).lower().replace("_", "")
    for kind in _KINDS:
        if kind.name == _SPELLINGS.get(plain, plain):
            return kind
    if plain == "cross":
        message = "how = 'cross': a cross join has no key to balance; use left.crossJoin(right)"
        raise ConfigurationError(message)
    check_one_of("how", how, [kind.name for kind in _KINDS])
    raise AssertionError
