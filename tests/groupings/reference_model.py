"""The arithmetic of DKG's reference implementation, written from a description of it.

It uses lists, dictionaries and whole numbers, as the reference does, and nothing of `evenkey`.
It divides and converts whole numbers as Java does. Unlike in the reference, a message may have a
weight above 1. Like the reference, it forgets no pool.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

CHECK_SECONDS = 60
WARM_UP_SECONDS = 15
CYCLE_SECONDS = 15
CYCLES_TO_OLD = 4
FIRST_POOL = 2


@dataclass
class Item:
    key: int
    count: int
    checked: float = -math.inf


def thresholds(workers):
    """Return scale-out and scale-in load; the reference never uses the second."""
    ideal = 100.0 / workers
    return int(ideal + math.sqrt(ideal)), int(ideal - math.sqrt(ideal))


class Spaces:
    def __init__(self, expected_keys):
        self.old_size = int(expected_keys * (10 / 100.0))
        self.teenage_size = int(expected_keys * (40 / 100.0))
        self.baby_size = int(expected_keys * (50 / 100.0))
        self.old, self.teenage, self.baby = [], [], []

    def find(self, key):
        for space in (self.old, self.teenage, self.baby):
            for item in space:
                if item.key == key:
                    return item
        return None

    def cycle(self, number):
        self.baby.sort(key=lambda item: -item.count)
        del self.baby[self.baby_size :]
        self.teenage.sort(key=lambda item: -item.count)
        promote(self.baby, self.teenage, self.teenage_size)
        if number % CYCLES_TO_OLD == 0:
            self.teenage.sort(key=lambda item: -item.count)
            self.old.sort(key=lambda item: -item.count)
            promote(self.teenage, self.old, self.old_size)


def promote(lower, upper, size):
    steps = 0
    while len(upper) < size and lower:
        upper.insert(0, lower.pop(0))
        steps += 1
    while steps < size and lower and lower[0].count > upper[-1].count:
        lower.append(upper.pop())
        upper.insert(0, lower.pop(0))
        steps += 1


class Reference:
    """One source; `home` returns the first worker of a key, as the reference's hash does."""

    def __init__(self, workers, expected_keys=100, home=lambda key, workers: key % workers):
        self.out_at = thresholds(workers)[0]
        self.sent, self.total = [0] * workers, 0
        self.spaces, self.home = Spaces(expected_keys), home
        self.pools: dict[int, int] = {}
        self.start, self.due, self.cycles = math.nan, math.inf, 1

    def route(self, keys, times, weights):
        messages = zip(keys, times, weights, strict=True)
        return [self.route_one(key, time, weight) for key, time, weight in messages]

    def route_one(self, key, time, weight):
        if math.isnan(self.start):
            self.start, self.due = time, time + CYCLE_SECONDS
        while time >= self.due:
            self.cycles += 1
            self.spaces.cycle(self.cycles)
            self.due += CYCLE_SECONDS
        worker = self.choose(key, time)
        self.sent[worker] += weight
        self.total += weight
        item = self.spaces.find(key)
        if item is None:
            self.spaces.baby.append(Item(key, weight))
        else:
            item.count += weight
        return worker

    def load(self, worker):
        return 100 * self.sent[worker] // self.total if self.total else 0

    def choose(self, key, time):
        workers = len(self.sent)
        pool = self.pools.get(key, FIRST_POOL)
        home = self.home(key, workers)
        best = min(((home + step) % workers for step in range(pool)), key=self.load)
        if not self.check_is_due(key, time):
            return best
        least = self.load(best)
        warm = time - self.start > WARM_UP_SECONDS
        old = any(item.key == key for item in self.spaces.old)
        below = sum(self.load((home + step) % workers) < self.out_at for step in range(pool))
        if warm and least >= self.out_at and old:
            following = (home + pool) % workers
            if self.load(following) < least:
                self.pools[key] = pool + 1
                return following
        elif pool > FIRST_POOL and below >= 2:
            self.pools[key] = pool - 1
            return self.choose(key, time)
        return best

    def check_is_due(self, key, time):
        item = self.spaces.find(key)
        if item is None or time - item.checked <= CHECK_SECONDS:
            return False
        item.checked = time
        return True
