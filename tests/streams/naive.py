"""The kernels of streams in textbook form, one message at a time."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import exp, gcd, log
from statistics import NormalDist

WORD = 2**64


def random_word(seed, counter):
    """Return random word number `counter` of Splitmix64."""
    word = (seed + (counter + 1) * 0x9E3779B97F4A7C15) % WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB % WORD
    return word ^ word >> 31


def uniform(seed, start, size, length):
    return [random_word(seed, start + i) * size // WORD for i in range(length)]


def alias_probabilities(chance, alias):
    """Return the exact probability of each key under an alias table."""
    size = len(chance)
    found = [Fraction(0)] * size
    for column in range(size):
        own = Fraction(int(chance[column]), 2**32)
        found[column] += own / size
        found[int(alias[column])] += (1 - own) / size
    return found


def sample_alias(seed, start, chance, alias, length):
    size = len(chance)
    keys = []
    for i in range(length):
        column, rest = divmod(random_word(seed, start + i) * size, WORD)
        keys.append(column if rest >> 32 < chance[column] else int(alias[column]))
    return keys


def prime_to(size, number):
    number = max(number, 1)
    while gcd(number, size) != 1:
        number += 1
    return number


def harmonic(keys, exponent):
    return sum(rank**-exponent for rank in range(1, keys + 1))


def occurring(messages, top, keys, exponent):
    """Return the expected number of distinct keys, if the messages of each key are Poisson."""
    means = (messages * top * rank**-exponent for rank in range(1, keys + 1))
    return sum(1 - exp(-mean) for mean in means)


def in_week(rank, week):
    return (rank + 5 * week) % 20 if rank < 20 else rank


def lognormal_share(key, mu, sigma):
    def below(value):
        return NormalDist(mu, sigma).cdf(log(value))

    return below(key + 0.5) - (below(key - 0.5) if key else 0)


def deal(seed, start, every, size, ranks):
    first = random_word(seed, -1) * size // WORD
    step = prime_to(size, int(0.618 * size))
    keys = []
    for i, rank in enumerate(ranks):
        period = (start + i) // every
        factor = prime_to(size, random_word(seed, period) * size // WORD)
        keys.append((factor * rank + first + step * period) % size)
    return keys


COUNT = re.compile(r"\s*\+?0*[1-9][0-9]{0,17}\s*")
SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")


def split_table(line, separator, width, key, seconds=None, count=None):
    """Return (key, count) from the fields of a line; None if the line is malformed."""
    fields = line.split(separator)
    if len(fields) != width:
        return None
    if seconds is not None and not SECONDS.fullmatch(fields[seconds]):
        return None
    if count is not None and not COUNT.fullmatch(fields[count]):
        return None
    return fields[key], 1 if count is None else int(fields[count])


def split_edge(line):
    """Return the vertices (to, from) of a line; None if it is malformed, () for a comment."""
    if line.startswith("#"):
        return ()
    vertices = re.split(r"[ \t\v\f\r]+", line.strip(" \t\v\f\r"))
    return (vertices[1], vertices[0]) if len(vertices) == 2 else None


def hashtags(line):
    """Return the hashtags of a tweet; [] for a notice, None if the line is malformed."""
    try:
        tweet = json.loads(line)
        return [] if "limit" in tweet else [tag["text"] for tag in tweet["entities"]["hashtags"]]
    except (ValueError, TypeError, KeyError):
        return None
