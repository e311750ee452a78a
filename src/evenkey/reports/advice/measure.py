"""How skewed keys are: the hottest ones, and Zipf's law fitted to all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evenkey.reports.advice.sample import Sample

_TOP_KEYS = 10
_STEEPEST = 20.0
_HALVINGS = 50


class TopKey(NamedTuple):
    """One of the hottest keys."""

    key: str | None
    messages: int
    share: float


class ZipfFit(NamedTuple):
    """Zipf's law, fitted: the key of rank r has a share in proportion to ``r ** -exponent``.

    Parameters
    ----------
    exponent
        z; 0 is uniform.
    distance
        Largest difference between what the hottest r keys have of all messages, and what the
        law gives them, over all r (Kolmogorov and Smirnov's); 0 is a perfect fit.
    """

    exponent: float
    distance: float


@dataclass(frozen=True)
class Skew:
    """Measurements of a sample's keys.

    Parameters
    ----------
    messages
        How many there are, m.
    counts
        int64[k], messages of each key, hottest first.
    top
        The hottest keys.
    zipf
        The law fitted to all; None for a single key.
    """

    messages: int
    counts: NDArray[np.int64]
    top: tuple[TopKey, ...]
    zipf: ZipfFit | None

    @property
    def keys(self) -> int:
        """Distinct keys, k."""
        return len(self.counts)

    @property
    def top_share(self) -> float:
        """Share of the hottest key, p1."""
        return int(self.counts[0]) / self.messages

    def most_workers(self, choices: int) -> float:
        """Workers up to which a key of `choices` candidates can be balanced: ``choices / p1``.

        With more of them, the workers that share the hottest key hold more than the mean in
        any case (PKG paper, section 5). 1 is key grouping, 2 partial key grouping.
        """
        return choices / self.top_share


def measure(sample: Sample) -> Skew:
    """Measure the skew of a sample's keys.

    Examples
    --------
    >>> from evenkey.reports.advice import Sample
    >>> from evenkey.core.streams import generated
    >>> skew = measure(Sample.take(generated("country-skew-r80", messages=1000)))
    >>> skew.keys, skew.top[0].key, round(skew.top_share, 2), round(skew.most_workers(2), 1)
    (137, 'Turkey', 0.78, 2.6)
    """
    counts = np.bincount(sample.batch.ids)
    order = np.argsort(-counts, kind="stable")
    ranked = counts[order]
    messages = len(sample.batch.ids)
    texts = sample.texts(order[:_TOP_KEYS]).to_pylist()
    top = (
        TopKey(text, int(count), int(count) / messages)
        for text, count in zip(texts, ranked, strict=False)
    )
    return Skew(messages, ranked, tuple(top), fit_zipf(ranked) if len(ranked) > 1 else None)


def fit_zipf(counts: ArrayLike) -> ZipfFit:
    """Fit Zipf's law to ranked frequencies, by largest likelihood.

    The likelihood is largest where the mean logarithm of the rank is that of the law
    (Clauset, Shalizi and Newman, Power-law distributions in empirical data, 2009), and that falls
    as the exponent grows: bisection finds it.

    Parameters
    ----------
    counts
        int64[k], messages of each key, hottest first; at least two keys.

    Examples
    --------
    >>> fit = fit_zipf([6000, 3000, 2000, 1500, 1200])
    >>> round(fit.exponent, 3), round(fit.distance, 3)
    (1.0, 0.0)
    """
    ranked = np.asarray(counts, dtype=np.float64)
    logarithms = np.log(np.arange(1, len(ranked) + 1))
    observed = ranked @ logarithms / ranked.sum()
    low, high = 0.0, _STEEPEST
    if observed >= logarithms.mean():
        high = 0.0
    for _ in range(_HALVINGS if high else 0):
        middle = (low + high) / 2
        if zipf_shares(len(ranked), middle) @ logarithms > observed:
            low = middle
        else:
            high = middle
    shares = zipf_shares(len(ranked), (low + high) / 2)
    distance = np.abs(np.cumsum(ranked) / ranked.sum() - np.cumsum(shares)).max()
    return ZipfFit((low + high) / 2, float(distance))


def zipf_shares(keys: int, exponent: float) -> NDArray[np.float64]:
    """Give the shares of `keys` keys under Zipf's law, hottest first: float64[k]."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
