"""Plain Python versions of what the advice computes."""

from __future__ import annotations

import math


def zipf_likelihood(counts, exponent):
    """Return the log-likelihood of ranked counts under Zipf's law."""
    weights = [rank**-exponent for rank in range(1, len(counts) + 1)]
    total = sum(weights)
    pairs = zip(counts, weights, strict=True)
    return sum(count * math.log(weight / total) for count, weight in pairs)


def spread(texts, length):
    """Return `length` of the texts, at equal distances, each with its number in the sample."""
    return [(place, texts[place * len(texts) // length]) for place in range(length)]
