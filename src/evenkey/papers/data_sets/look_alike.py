"""Synthetic streams with the length, the keys and the top key's share of real data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import Published, Weighted
from evenkey.papers.data_sets.law import Law, law_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PKG = "PKG paper, table 1"
_DKG = "DKG paper, table 2"


class LookAlikeModel(NamedTuple):
    """A data set's published figures, and what we add where the paper does not say.

    Parameters
    ----------
    published
        The paper's figures.
    keys
        Keys that are to occur.
    law
        None: the law that `law_of` finds. Else the law of all keys but the first, whose share
        is set to the published one.
    """

    published: Published
    keys: int
    law: Law | None = None


_MODELS = {
    "wikipedia": LookAlikeModel(
        Published("pages of Wikipedia visited in a day", _PKG, 22_000_000, 9.32, 2_900_000),
        keys=2_900_000,
    ),
    "twitter": LookAlikeModel(
        Published("words of tweets", _PKG, 1_200_000_000, 2.67, 31_000_000), keys=31_000_000
    ),
    # The DKG paper counts no keys. Below, `keys` is the count of the same data in the PKG paper.
    "twitter-ticker": LookAlikeModel(
        Published("ticker symbols in tweets", _DKG, 1_500_000, 10), keys=2_900
    ),
    "wikipedia-pageviews": LookAlikeModel(
        Published("pages of Wikipedia visited in a day", _DKG, 22_000_000, 9), keys=2_900_000
    ),
    # Its hot key is made of many hashtags and stands outside any law. The exponent of the rest
    # follows from the paper's DistCost of shuffle grouping, 2.4491 on 10 workers (table 3): a
    # long sample of a power law has DistCost = 10 ** (1 - 1 / exponent) there.
    "twitter-election": LookAlikeModel(
        Published("hashtags of tweets about an election", _DKG, 5_000_000, 68),
        keys=12_000,
        law=Law(1.637, 1_000_000),
    ),
}


@dataclass(frozen=True)
class LookAlike(Weighted):
    """Keys 0, 1, 2, ... by a power law that has a real data set's published figures.

    Rank r has a probability in proportion to ``r ** -z``. Exponent and number of keys are such
    that the most frequent key has the published share, and that in the published number of
    messages the published number of distinct keys is expected (`law_of`). The law stays the same
    for other lengths.

    Parameters
    ----------
    like
        Name of the data set.

    Raises
    ------
    ConfigurationError
        There is no such data set.

    Examples
    --------
    >>> stream = LookAlike("twitter-ticker", messages=8)
    >>> stream.name, stream.key_count, stream.batch(0, 8).ids.tolist()
    ('twitter-ticker-like', 2900, [1632, 568, 53, 1559, 563, 24, 2, 3])
    """

    family: ClassVar[str] = "look-alike"
    summary: ClassVar[str] = "synthetic"
    models: ClassVar[dict[str, LookAlikeModel]] = _MODELS
    fixed: ClassVar[dict[str, dict[str, str]]] = {
        f"{like}-like": {"like": like} for like in _MODELS
    }

    like: str

    def __post_init__(self) -> None:
        check_fields(self)
        if self.like not in self.models:
            known = ", ".join(self.models)
            message = f"{self.like}-like: there are look-alikes of: {known}"
            raise ConfigurationError(message)
        if self.messages is None:
            object.__setattr__(self, "messages", self.published.messages)
        super().__post_init__()

    @property
    def name(self) -> str:
        """Its spelling, such as ``wikipedia-like``."""
        return f"{self.like}-like"

    @property
    def about(self) -> str:
        """What it mimics."""
        return f"{self.summary}: {self.published.what}"

    @property
    def published(self) -> Published:
        """What the paper says of the real data set."""
        return self.models[self.like].published

    @property
    def law(self) -> Law:
        """Exponent and number of keys of its law."""
        published, keys, law = self.models[self.like]
        return law or law_of(published.messages, keys, published.top_percent / 100)

    @property
    def key_count(self) -> int:
        """How many keys its law has; more than will occur."""
        return self.law.keys

    def weights(self) -> NDArray[np.float64]:
        """``(key + 1) ** -z`` of each key, the first one's set to its share where it is apart."""
        exponent, keys = self.law
        ranks = np.arange(1, keys + 1, dtype=np.float64)
        weights = np.power(ranks, -exponent, out=ranks)
        if self.models[self.like].law is not None:
            top = self.published.top_percent / 100
            weights[0] = weights[1:].sum() * top / (1 - top)
        return weights
