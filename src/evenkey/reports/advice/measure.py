"""Measure how skewed keys are: find the hottest keys, and fit Zipf's law to all keys."""

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
_FITTING = 0.1
"""Largest distance of a fit of Zipf's law that is reported: keys farther off follow no such law."""


class TopKey(NamedTuple):
    """One of the hottest keys, with its number of messages and its share of all messages."""

    key: str | None
    messages: int
    share: float


class ZipfFit(NamedTuple):
    """A fit of Zipf's law: the share of the key of rank r is proportional to ``r ** -exponent``.

    Parameters
    ----------
    exponent
        The exponent z; 0 means that all keys are equally frequent.
    distance
        Kolmogorov-Smirnov distance of the fit. For each r, the r hottest keys together have a
        measured share and a share under the law; the distance is the largest difference of these
        two shares. 0 is a perfect fit.
    """

    exponent: float
    distance: float


@dataclass(frozen=True)
class Skew:
    """The measured skew of a sample's keys.

    Parameters
    ----------
    messages
        Number of messages, m.
    counts
        Number of messages of each key, hottest key first; int64[k].
    top
        The hottest keys, at most 10.
    zipf
        Zipf's law, fitted to all keys. None: there is only one key, or the law is off by more than
        10 % of the messages.
    """

    messages: int
    counts: NDArray[np.int64]
    top: tuple[TopKey, ...]
    zipf: ZipfFit | None

    @property
    def keys(self) -> int:
        """Number of distinct keys, k."""
        return len(self.counts)

    @property
    def top_share(self) -> float:
        """Share of the hottest key in all messages, p1."""
        return int(self.counts[0]) / self.messages

    def most_workers(self, choices: int) -> float:
        """Return the largest worker count that can be balanced: ``choices / p1``.

        Each key has `choices` candidate workers: 1 in key grouping, 2 in partial key grouping. If
        there are more workers than the returned number, the candidates of the hottest key
        certainly have more than the mean load (PKG paper, section 5).
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
    fit = fit_zipf(ranked) if len(ranked) > 1 else None
    fits = fit is not None and fit.distance <= _FITTING
    return Skew(messages, ranked, tuple(top), fit if fits else None)


def fit_zipf(counts: ArrayLike) -> ZipfFit:
    """Fit Zipf's law to ranked frequencies by maximum likelihood.

    The likelihood is largest for the exponent at which the mean logarithm of the rank under the
    law equals the measured mean (Clauset, Shalizi and Newman, Power-law distributions in empirical
    data, 2009). The mean under the law falls as the exponent grows, so bisection finds this
    exponent.

    Parameters
    ----------
    counts
        Number of messages of each key, hottest key first, for at least two keys; int64[k].

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
    """Return the shares of `keys` keys under Zipf's law, hottest key first; float64[keys]."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
