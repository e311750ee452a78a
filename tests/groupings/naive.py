"""Obvious versions of the kernels: one message at a time, in plain Python."""

from __future__ import annotations

import math

from tests.sketches.naive import naive_space_saving

MASK = (1 << 64) - 1


def mix(key, salt):
    key = (key + salt * 0x9E3779B97F4A7C15) & MASK
    key = ((key ^ key >> 33) * 0xFF51AFD7ED558CCD) & MASK
    key = ((key ^ key >> 33) * 0xC4CEB9FE1A85EC53) & MASK
    return key ^ key >> 33


def home(key, workers):
    signed = key - (1 << 64) if key >> 63 else key
    return signed % workers


def shuffle(keys, workers, source=0):
    return [(source + i) % workers for i in range(len(keys))]


def key(keys, workers):
    return [home(each, workers) for each in keys]


def partial_key(keys, weights, workers, choices, variant="storm"):
    sent, out = [0] * workers, []
    for each, weight in zip(keys, weights, strict=True):
        candidates = [home(each, workers)]
        for j in range(1, min(choices, workers) if variant == "storm" else choices):
            candidate = (mix(each, j) >> 32) * workers >> 32
            while variant == "storm" and candidate in candidates:
                candidate = (candidate + 1) % workers
            candidates.append(candidate)
        out.append(min(candidates, key=lambda worker: sent[worker]))
        sent[out[-1]] += weight
    return out


def two_choices(key, workers):
    first, second = home(key, workers), (mix(key, 1) >> 32) * workers >> 32
    return first, second if second != first else (second + 1) % workers


def candidates(key, workers):
    """Return all workers in the order in which D-Choices takes them as candidates."""
    first, second = two_choices(key, workers)
    order = [first]
    while len(order) < workers:
        following = (order[-1] + second - first) % workers
        order.append(following if following not in order else (following + 1) % workers)
    return order


def fewest_choices(shares, workers, epsilon):
    shares = sorted(shares, reverse=True)
    least = max(2, math.ceil(shares[0] * workers)) if shares else 2
    for choices in range(least, workers):
        for h in range(1, len(shares) + 1):
            busy = workers - workers * (1 - choices / workers) ** h
            load = sum(shares[:h]) + (busy / workers) ** choices * sum(shares[h:])
            load += (busy / workers) ** 2 * (1 - sum(shares))
            if load > busy * (1 / workers + epsilon):
                break
        else:
            return choices
    return workers


def heads(stream, workers, *, threshold, capacity, epsilon=0.0, interval=0):
    sent, out, due, choices = [0] * workers, [], min(interval, 1), workers
    for position, (key, weight) in enumerate(stream, 1):
        held = naive_space_saving(capacity, stream[:position])
        total = sum(weight for _, weight in stream[:position])
        shares = {each: (count - error) / total for each, (count, error) in held.items()}
        if position == due:
            heavy = [share for share in shares.values() if share > threshold]
            choices = fewest_choices(heavy, workers, epsilon)
            due += min(due, interval)
        among = two_choices(key, workers)
        if shares[key] > threshold:
            among = sorted(candidates(key, workers)[:choices])
        out.append(min(among, key=lambda worker: sent[worker]))
        sent[out[-1]] += weight
    return out


def first_sight(keys, weights, workers, *, everywhere):
    sent = [0] * workers
    places: dict[int, int] = {}
    for key, weight in zip(keys, weights, strict=True):
        ring = [(home(key, workers) + step) % workers for step in range(workers)]
        candidates = ring if everywhere else two_choices(key, workers)
        places.setdefault(key, min(candidates, key=lambda worker: sent[worker]))
        sent[places[key]] += weight
    return [places[key] for key in keys]


def offline_greedy(counts, keys, workers):
    loads, places = [0] * workers, {}
    for key in sorted(counts, key=lambda key: (-counts[key], key)):
        places[key] = loads.index(min(loads))
        loads[places[key]] += counts[key]
    return [places.get(key, home(key, workers)) for key in keys]


def prompt(counts, workers):
    """Return ``{key: {worker: messages}}``: the pieces into which the keys of a batch are cut."""
    total = sum(counts.values())
    cut = total / max(workers, len(counts), 1)
    remaining, pieces, rests = [total / workers] * workers, {}, []
    for number, key in enumerate(sorted(counts, key=lambda key: (-counts[key], key))):
        turn = number % (2 * workers)
        home = turn if turn < workers else 2 * workers - 1 - turn
        first = min(cut, counts[key])
        pieces[key] = {home: first}
        remaining[home] -= first
        if counts[key] > first:
            rests.append((key, home, counts[key] - first))
    for key, home, above in rests:
        rest = above
        while rest > 0:
            fitting = [worker for worker in range(workers) if remaining[worker] >= rest]
            if remaining[home] >= rest:
                best, part = home, rest
            elif fitting:
                best, part = min(fitting, key=lambda worker: remaining[worker]), rest
            else:
                best = home if remaining[home] > 0 else remaining.index(max(remaining))
                part = min(rest, remaining[best]) if remaining[best] > 0 else rest
            pieces[key][best] = pieces[key].get(best, 0) + part
            remaining[best] -= part
            rest -= part
    return pieces


def isolated(counts, total, workers, most):
    """Return the workers of the hottest keys, and the weights of workers for all other keys."""
    loads, places = [0.0] * workers, {}
    for key in sorted(counts, key=lambda key: (-counts[key], key))[:most]:
        places[key] = loads.index(min(loads))
        loads[places[key]] += counts[key]
    rest, capacities = total - sum(loads), [0.0] * workers
    # Fill the least loaded workers step by step, each time up to the load of the next one.
    while rest > 0:
        filled = [load + taken for load, taken in zip(loads, capacities, strict=True)]
        lowest = [w for w in range(workers) if filled[w] == min(filled)]
        higher = [load for load in filled if load > min(filled)]
        step = rest / len(lowest)
        if higher:
            step = min(step, min(higher) - min(filled))
        for worker in lowest:
            capacities[worker] += step
        rest -= step * len(lowest)
        if step * len(lowest) == 0:
            break
    return places, capacities


def cardinality_affinity(keys, weights, workers, tolerance):
    sent, out = [0] * workers, []
    holds: list[set[int]] = [set() for _ in range(workers)]
    for key, weight in zip(keys, weights, strict=True):
        candidates = two_choices(key, workers)
        lighter = min(candidates, key=lambda worker: sent[worker])
        holders = [worker for worker in candidates if key in holds[worker]]
        if holders:
            best = min(holders, key=lambda worker: sent[worker])
            if tolerance is not None and sent[best] > (1 + tolerance) * sum(sent) / workers:
                best = lighter
        else:
            best = min(candidates, key=lambda worker: (len(holds[worker]), sent[worker]))
        holds[best].add(key)
        sent[best] += weight
        out.append(best)
    return out


class DynamicKeyGrouping:
    """Dynamic key grouping as in the paper; `reference_model` has the other variant."""

    def __init__(self, grouping, workers):
        self.rules = grouping
        self.out_at, self.in_at = grouping.thresholds(workers)
        self.most = grouping.most_workers(workers)
        self.first = min(grouping.initial_pool, workers)
        self.sent, self.items = [0] * workers, {}
        self.start, self.due, self.cycles, self.born = None, None, 1, 0

    def load(self, worker):
        return 100 * self.sent[worker] / max(1, sum(self.sent))

    def route(self, keys, times, weights):
        messages = zip(keys, times, weights, strict=True)
        return [self.route_one(key, time, weight) for key, time, weight in messages]

    def route_one(self, key, time, weight):
        if self.start is None:
            self.start, self.due = time, time + self.rules.teenage_period
        while time >= self.due:
            self.cycle()
        new = key not in self.items
        if new:
            blank = {"count": 0, "pool": self.first, "space": "baby"}
            self.items[key] = {**blank, "order": self.born}
            self.born += 1
        item = self.items[key]
        item["count"] += weight
        item["seen"] = time
        worker = self.choose(key, item, time, check=not new)
        self.sent[worker] += weight
        return worker

    def choose(self, key, item, time, *, check):
        workers = len(self.sent)
        pool = [(home(key, workers) + j) % workers for j in range(item["pool"])]
        best = min(pool, key=self.load)
        if not check:
            return best
        warm = time - self.start > self.rules.warm_up
        if item["space"] == "old" and warm and self.load(best) >= self.out_at:
            following = (home(key, workers) + item["pool"]) % workers
            if item["pool"] < self.most and self.load(following) < self.load(best):
                item["pool"] += 1
                return following
        elif item["pool"] > self.first and sum(self.load(w) < self.in_at for w in pool) >= 2:
            item["pool"] -= 1
            return self.choose(key, item, time, check=True)
        return best

    def cycle(self):
        self.items = {k: v for k, v in self.items.items() if self.due - v["seen"] <= 3600}
        self.cycles += 1
        expected = self.rules.expected_keys
        sizes = {"baby": self.rules.baby_share, "teenage": self.rules.teenage_share}
        sizes = {space: round(expected * share) for space, share in sizes.items()}
        for key in self.ranked("baby")[sizes["baby"] :]:
            del self.items[key]
        self.promote("baby", "teenage", sizes["teenage"])
        if self.cycles % round(self.rules.old_period / self.rules.teenage_period) == 0:
            self.promote("teenage", "old", round(expected * self.rules.old_share))
        self.due += self.rules.teenage_period

    def ranked(self, space):
        of = [key for key, item in self.items.items() if item["space"] == space]
        return sorted(of, key=lambda key: (-self.items[key]["count"], self.items[key]["order"]))

    def promote(self, source, destination, size):
        rising, falling = self.ranked(source), self.ranked(destination)
        while len(falling) < size and rising:
            falling.insert(0, rising[0])
            self.items[rising.pop(0)]["space"] = destination
        for first, last in zip(rising, reversed(falling), strict=False):
            stays, rises = self.items[last]["count"], self.items[first]["count"]
            if stays > rises:
                break
            self.items[first]["space"], self.items[last]["space"] = destination, source
