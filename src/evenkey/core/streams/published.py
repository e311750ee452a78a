"""Figures of published data sets that generated streams imitate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Published:
    """The figures of a data set, as a paper states them.

    Parameters
    ----------
    what
        What the data set contains.
    source
        Paper and table that state the figures.
    messages
        Number of messages; if the records have weights, the sum of the weights.
    top_percent
        Share of the messages that have the most frequent key, in percent.
    keys
        Number of keys. None: the paper does not state the number.
    """

    what: str
    source: str
    messages: int
    top_percent: float
    keys: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Convert the figures to values that JSON can represent."""
        return {
            "source": self.source,
            "messages": self.messages,
            "keys": self.keys,
            "top_share_percent": self.top_percent,
        }
