"""Look-alikes of data sets whose records are counts, such as clicks on a page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from evenkey.core.streams import Published
from evenkey.papers.data_sets.look_alike import LookAlike, LookAlikeModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DKG = "DKG paper, table 2"
_SIZE = (1 << 32) - 1


class RecordCounts(NamedTuple):
    """How the published total weight is divided among records.

    Parameters
    ----------
    length
        Number of records of the data set.
    exponent
        A key with the share p of the total weight has a share of the records proportional to
        ``p ** exponent``. With exponent 1, all records have the same mean weight. With exponent
        0, all keys have equally many records.
    """

    length: int
    exponent: float


# The DKG paper gives neither numbers of keys nor numbers of records. The numbers below have the
# order of magnitude of the real data. An article has one record for each page that links to it,
# and the number of these pages grows far slower than the number of clicks on the article. A
# language has one record for each of its pages in each hour.
_MODELS = {
    "wikipedia-clickstream": LookAlikeModel(
        Published("articles that links led to", _DKG, 8_000_000_000, 10), keys=3_000_000
    ),
    "wikipedia-pageviews-by-lang": LookAlikeModel(
        Published("languages of pages visited", _DKG, 588_000_000, 27), keys=300
    ),
}
_RECORDS = {
    "wikipedia-clickstream": RecordCounts(25_000_000, 0.5),
    "wikipedia-pageviews-by-lang": RecordCounts(130_000_000, 0.9),
}


@dataclass(frozen=True)
class RecordLookAlike(LookAlike):
    """A look-alike whose messages are records with weights; the paper's figures are of weights.

    The weights of all messages add up to the published total. The weights of the most frequent key
    add up to its published share of the total. If `LookAlike` would give a key the share p of the
    messages, the key has the share p of the total weight here. Its share r of the records is
    proportional to ``p ** exponent``. The weight of a record is geometrically distributed, with
    the mean ``total / records * p / r``.

    Parameters
    ----------
    like
        Name of the data set.

    Examples
    --------
    >>> batch = RecordLookAlike("wikipedia-pageviews-by-lang", messages=6).batch(0, 6)
    >>> batch.ids.tolist(), batch.counts.tolist()
    ([3, 40, 0, 1, 13, 42], [5, 4, 3, 1, 1, 5])
    """

    family: ClassVar[str] = "record-look-alike"
    weighs: ClassVar[bool] = True
    models: ClassVar[dict[str, LookAlikeModel]] = _MODELS
    fixed: ClassVar[dict[str, dict[str, str]]] = {
        f"{like}-like": {"like": like} for like in _MODELS
    }

    def __post_init__(self) -> None:
        if self.messages is None and self.like in _RECORDS:
            object.__setattr__(self, "messages", self.records.length)
        super().__post_init__()

    @property
    def records(self) -> RecordCounts:
        """How the published total weight is divided among records."""
        return _RECORDS[self.like]

    def weights(self) -> NDArray[np.float64]:
        """Return ``(key + 1) ** -(z * exponent)``, which is proportional to a key's records."""
        weights = super().weights()
        return np.power(weights, self.records.exponent, out=weights)

    def counts(self, ids: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        """Return the weights of messages from offset `start` on, whose keys are `ids`; int64[n]."""
        from evenkey.core.streams import _kernels

        numbers = np.empty(len(ids), dtype=np.int64)
        # The complement of the stream's seed gives a second random number per message.
        _kernels.uniform(~self.random_seed, start, _SIZE, numbers)
        steps = np.log((numbers + 1) / (_SIZE + 1)) * _inverse_rates(self.like)[ids]
        return 1 + steps.astype(np.int64)


@lru_cache(maxsize=2)
def _inverse_rates(like: str) -> NDArray[np.float64]:
    """Return 1 / log(1 - 1 / mean) for the mean weight of each key; 0 if the mean is 1."""
    stream = RecordLookAlike(like)
    records = stream.probabilities()
    shares = LookAlike.weights(stream)
    shares /= shares.sum()
    means = stream.published.messages / stream.records.length * shares / records
    return 1 / np.log1p(-1 / np.maximum(means, 1 + 1e-9))
