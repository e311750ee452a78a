"""Plain twins of what advice computes."""

from __future__ import annotations

import math


def zipf_likelihood(counts, exponent):
    """Logarithm of the likelihood of ranked counts under Zipf's law."""
    weights = [rank**-exponent for rank in range(1, len(counts) + 1)]
    total = sum(weights)
    pairs = zip(counts, weights, strict=True)
    return sum(count * math.log(weight / total) for count, weight in pairs)


def spread(texts, length):
    """Some `length` of all texts at equal distances, with their places."""
    return [(place, texts[place * len(texts) // length]) for place in range(length)]
