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
    """The published figures of a data set, and our assumptions where the paper gives no figures.

    Parameters
    ----------
    published
        The paper's figures.
    keys
        Number of distinct keys that should occur in the stream.
    law
        Power law of all keys except the first; the first key has the published share. None: all
        keys follow the law that `law_of` finds.
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
    # The DKG paper gives no numbers of keys. `keys` is the PKG paper's number for the same data.
    "twitter-ticker": LookAlikeModel(
        Published("ticker symbols in tweets", _DKG, 1_500_000, 10), keys=2_900
    ),
    "wikipedia-pageviews": LookAlikeModel(
        Published("pages of Wikipedia visited in a day", _DKG, 22_000_000, 9), keys=2_900_000
    ),
    # The hot key of this data set combines many hashtags and does not follow a power law. The
    # exponent of the other keys is derived from the paper's DistCost of shuffle grouping, 2.4491
    # on 10 workers (table 3): a long sample of a power law has DistCost = 10 ** (1 - 1 / exponent)
    # on 10 workers.
    "twitter-election": LookAlikeModel(
        Published("hashtags of tweets about an election", _DKG, 5_000_000, 68),
        keys=12_000,
        law=Law(1.637, 1_000_000),
    ),
}


@dataclass(frozen=True)
class LookAlike(Weighted):
    """A stream with power-law keys 0, 1, 2, ... and the published figures of a real data set.

    The probability of rank r is proportional to ``r ** -z``. `law_of` finds the exponent z and the
    number of keys. With these, the most frequent key has the published share, and a stream of the
    published length is expected to have the published number of distinct keys. A stream of another
    length uses the same law.

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
        """Spelling of the stream, such as ``wikipedia-like``."""
        return f"{self.like}-like"

    @property
    def about(self) -> str:
        """Description of the data set that the stream mimics."""
        return f"{self.summary}: {self.published.what}"

    @property
    def published(self) -> Published:
        """The figures that the paper gives for the real data set."""
        return self.models[self.like].published

    @property
    def law(self) -> Law:
        """Exponent and number of keys of the power law."""
        published, keys, law = self.models[self.like]
        return law or law_of(published.messages, keys, published.top_percent / 100)

    @property
    def key_count(self) -> int:
        """Number of keys of the power law; not all of them occur in the stream."""
        return self.law.keys

    def weights(self) -> NDArray[np.float64]:
        """Return the weight of each key: ``(key + 1) ** -z``.

        If the first key does not follow the power law, its weight is the one that gives it the
        published share.
        """
        exponent, keys = self.law
        ranks = np.arange(1, keys + 1, dtype=np.float64)
        weights = np.power(ranks, -exponent, out=ranks)
        if self.models[self.like].law is not None:
            top = self.published.top_percent / 100
            weights[0] = weights[1:].sum() * top / (1 - top)
        return weights
