"""The PKG paper's data sets, table 1, and the streams that stand for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkey.experiments.dataset import Dataset

if TYPE_CHECKING:
    from evenkey.experiments.scale import Scale

__all__ = ["PUBLISHED", "SECONDS", "ZIPF_MESSAGES", "Published", "dataset", "zipf"]

ZIPF_MESSAGES = 10_000_000
_DAY = 86_400.0


class Published(NamedTuple):
    """A row of the paper's table 1, and the stream that stands for it."""

    stream: str
    messages: int
    keys: int
    top_share_percent: float


PUBLISHED = {
    "WP": Published("wikipedia-like", 22_000_000, 2_900_000, 9.32),
    "TW": Published("twitter-like", 1_200_000_000, 31_000_000, 2.67),
    "CT": Published("cashtags-like", 690_000, 2_900, 3.29),
    "LJ": Published("livejournal-like", 69_000_000, 4_900_000, 0.29),
    "SL1": Published("slashdot0811-like", 905_000, 77_000, 3.28),
    "SL2": Published("slashdot0902-like", 948_000, 82_000, 3.11),
    "LN1": Published("lognormal-1", 10_000_000, 16_000, 14.71),
    "LN2": Published("lognormal-2", 10_000_000, 1_100, 7.01),
}

SECONDS = {"WP": _DAY, "TW": 31 * _DAY, "CT": 28 * _DAY}
"""Event time of the data sets that come from logs: a day in January 2008, July 2012, and four
weeks of November 2013."""


def dataset(symbol: str, scale: Scale, *, quick: float = 1, timed: bool = False) -> Dataset:
    """Stand in for a data set of the paper.

    Parameters
    ----------
    symbol
        The paper's.
    scale, quick
        As for `Scale.messages`.
    timed
        Whether messages come as often as they did. A stream that is cut short then is the first
        hours of the log; otherwise it spans 400 s.
    """
    published = PUBLISHED[symbol]
    rate = published.messages / SECONDS[symbol] if timed else None
    return Dataset(published.stream, scale.messages(published.messages, quick=quick), rate)


def zipf(z: float, keys: int, scale: Scale, *, quick: float = 1) -> Dataset:
    """One of the paper's Zipf streams, ZF."""
    return Dataset(f"zipf(z={z:g},keys={keys})", scale.messages(ZIPF_MESSAGES, quick=quick))
