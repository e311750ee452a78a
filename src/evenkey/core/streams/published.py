"""What papers say of the data sets that generated streams stand in for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Published:
    """The figures of a data set as a paper gives them.

    Parameters
    ----------
    what
        What the data set holds.
    source
        The paper and table that the figures stand in.
    messages
        How many messages it has; the sum of their weights where its records have some.
    top_percent
        Share of the messages that have the most frequent key, in percent.
    keys
        How many keys it has; None where the paper does not say.
    """

    what: str
    source: str
    messages: int
    top_percent: float
    keys: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the figures as JSON can hold them."""
        return {
            "source": self.source,
            "messages": self.messages,
            "keys": self.keys,
            "top_share_percent": self.top_percent,
        }
