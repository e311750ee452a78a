"""A look-alike of ticker symbols in tweets, whose hot keys change every week."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.streams import Published
from evenkey.papers.data_sets.law import Law, law_of
from evenkey.papers.data_sets.look_alike import LookAlike, LookAlikeModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WEEKS = 4
_HOT = 5  # ticker symbols in the paper's figure 3
_MODELS = {
    "cashtags": LookAlikeModel(
        Published(
            "ticker symbols in tweets of a month", "PKG paper, table 1", 690_000, 3.29, 2_900
        ),
        2_900,
    )
}


@dataclass(frozen=True)
class Cashtags(LookAlike):
    """A stream with power-law keys, whose five hottest keys differ in each quarter of the stream.

    Ranks are counted from 0. In week ``w = 4 * offset // messages``, a rank r below 20 is key
    ``(r + 5 w) mod 20``; any other rank r is key r. So the hot keys of a week are less frequent in
    the other weeks, as in figure 3 of the PKG paper. The share of a key in the stream is the mean
    of its shares in the weeks. The exponent of the power law is chosen so that the largest share
    of a key is the published share.

    Parameters
    ----------
    like
        Name of the data set, always ``cashtags``.

    Examples
    --------
    >>> Cashtags("cashtags", messages=12).batch(0, 12).ids.tolist()
    [2, 1, 1356, 0, 7, 15, 23, 297, 98, 16, 197, 44]
    """

    family: ClassVar[str] = "weekly-look-alike"
    models: ClassVar[dict[str, LookAlikeModel]] = _MODELS
    fixed: ClassVar[dict[str, dict[str, str]]] = {"cashtags-like": {"like": "cashtags"}}

    like: str = "cashtags"

    @property
    def law(self) -> Law:
        """Exponent and number of keys of the power law in each week."""
        published, keys, _ = self.models[self.like]
        ranks = tuple(range(1, _WEEKS * _HOT, _HOT))
        return law_of(published.messages, keys, published.top_percent / 100, ranks)

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        ids = super()._ids(start, stop)
        weeks = np.arange(start, stop) * _WEEKS // self.length
        head = _WEEKS * _HOT
        return np.where(ids < head, (ids + _HOT * weeks) % head, ids)
