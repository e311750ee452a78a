"""The data sets in table 1 of the PKG paper, and the streams that replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.experiment_data import Dataset, published

if TYPE_CHECKING:
    from evenkey.papers.experiments.scale import Scale


ZIPF_MESSAGES = 10_000_000
_DAY = 86_400.0


STREAMS = {
    "WP": "wikipedia-like",
    "TW": "twitter-like",
    "CT": "cashtags-like",
    "LJ": "livejournal-like",
    "SL1": "slashdot0811-like",
    "SL2": "slashdot0902-like",
    "LN1": "lognormal-1",
    "LN2": "lognormal-2",
}
"""The stream that replaces each data set, by the paper's symbol."""

SECONDS = {"WP": _DAY, "TW": 31 * _DAY, "CT": 28 * _DAY}
"""Seconds of event time of the data sets that come from logs: WP is a day in January 2008, TW is
July 2012, and CT is four weeks of November 2013."""


def dataset(
    symbol: str,
    scale: Scale,
    *,
    quick: float = 1,
    timed: bool = False,
    most: int | None = None,
) -> Dataset:
    """Return the stream that replaces a data set; the names of its keys begin with the symbol.

    Parameters
    ----------
    symbol
        The paper's symbol of the data set.
    scale, quick
        The scale, and the argument of its method `Scale.messages`.
    timed
        Whether the stream has as many messages per second as the paper's data set, so that a
        stream of fewer messages covers only its first hours. Otherwise it lasts 400 s.
    most
        Maximum number of messages at any scale; None: no maximum.
    """
    messages = published(STREAMS[symbol]).messages
    rate = messages / SECONDS[symbol] if timed else None
    length = scale.messages(messages, quick=quick)
    length = length if most is None else min(length, most)
    return Dataset(STREAMS[symbol], length, rate, prefix=symbol)


def zipf(z: float, keys: int, scale: Scale, *, quick: float = 1) -> Dataset:
    """Return one of the paper's Zipf streams, ZF; the names of its keys begin with ZF."""
    length = scale.messages(ZIPF_MESSAGES, quick=quick)
    return Dataset(f"zipf(z={z:g},keys={keys})", length, prefix="ZF")
