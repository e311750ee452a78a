"""Obvious versions of the planner and of routing by a plan, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict

GOLDEN = 0.6180339887498949
APART = 0.7548776662466927


def plan(keys, buckets, remaining, extra, before, *, stays):
    """Place ``{item: load}`` on workers; `before` has the previous workers of keys and buckets.

    If `stays` is true, items leave their workers only if a worker has too much load.
    """
    pieces = {}
    tolerance = [load * 0.005 / 1.005 for load in remaining]
    items = [*sorted(keys.items()), *enumerate(buckets)]
    order = sorted(range(len(items)), key=lambda i: -items[i][1])
    if stays:
        had = [before("key" if i < len(keys) else "bucket", items[i][0]) for i in range(len(items))]
        leaving = leave([load for _, load in items], len(keys), had, remaining, extra)
        for i, was in enumerate(had):
            if len(was) == 1 and i not in leaving:
                pieces[("key" if i < len(keys) else "bucket", items[i][0])] = {was[0]: items[i][1]}
        split = [i for i in order if len(had[i]) > 1]
        order = [i for i in order if i in leaving] + split[::-1]
    for i in order:
        (name, load), is_key = items[i], i < len(keys)
        mine = pieces[("key" if is_key else "bucket", name)] = {}
        was = before("key" if is_key else "bucket", name)
        stays = [w for w in was if load <= remaining[w] + extra[w] or load == 0]
        emptiest = max(range(len(remaining)), key=lambda w: (remaining[w], -w))
        if stays or not is_key or load <= remaining[emptiest]:
            pieces_of = [(stays[0] if stays else emptiest, load)]
        else:
            pieces_of = [(w, remaining[w]) for w in was if remaining[w] > tolerance[w]]
        while True:
            for worker, part in pieces_of:
                if min(part, load) > 0 or part == 0:
                    mine[worker] = min(part, load)
                    remaining[worker] -= mine[worker]
                    load -= mine[worker]
            if load <= 0:
                break
            emptiest = max(range(len(remaining)), key=lambda w: (remaining[w], -w))
            pieces_of = [(emptiest, remaining[emptiest])]
    return pieces


def leave(loads, keys, had, remaining, extra):
    """Return the items that leave overloaded workers, and let `remaining` exclude all others."""
    leaving = []
    for worker, most in enumerate(extra):
        mine = sorted((i for i in range(len(had)) if had[i] == [worker]), key=lambda i: loads[i])
        excess = sum(loads[i] for i in mine) - remaining[worker] - most
        for kind in ([i for i in mine if i < keys], [i for i in mine if i >= keys]):
            while excess > 0 and kind:
                out = next((i for i in kind if loads[i] >= excess), kind[-1])
                kind.remove(out)
                leaving.append(out)
                excess -= loads[out]
        remaining[worker] -= sum(loads[i] for i in mine if i not in leaving)
    return leaving


def route(keys, plan, source):
    """Route messages one by one according to a plan."""
    shares = {
        key: list(zip(plan.places[start:stop], plan.shares[start:stop], strict=True))
        for key, start, stop in zip(plan.keys, plan.starts, plan.starts[1:], strict=False)
    }
    dealt, out = dict.fromkeys(shares, 0), []
    for key in keys:
        pieces = shares.get(key, [(plan.owners[key % len(plan.owners)], 1.0)])
        point = (dealt.get(key, 0) * GOLDEN + source * APART % 1.0) % 1.0
        dealt[key] = dealt.get(key, 0) + 1
        cut = 0.0
        for worker, share in pieces:
            cut += share
            if point < cut or worker == pieces[-1][0]:
                out.append(int(worker))
                break
    return out


def cell(key):
    return key * 0x9E3779B97F4A7C15 % 2**64 >> 48


def give_way(keys, homes, expected, shares, rules):
    """Move messages of unexpected hot keys away from `homes`; `expected` has a share per cell."""
    counts, sent, rings, out = Counter(), Counter(), defaultdict(lambda: [0, 1]), []  # type: ignore[var-annotated]
    workers = len(shares)
    for total, (key, home) in enumerate(zip(keys, homes, strict=True), start=1):
        counts[cell(key)] += 1
        count, worker = counts[cell(key)], home
        floor = min(max(rules.least, rules.part * total / max(workers, 50)), rules.most)
        chance = (workers / total) ** 0.5
        fair = total * shares[home]
        above = (sent[home] - rules.margin) / fair - 1 if fair > rules.margin else 0
        allowed = max(rules.slack, 2 * chance)
        if above > allowed:
            floor = max(rules.fewest, floor * (allowed / above) ** rules.steep)
        beyond = count - floor
        planned = expected.get(cell(key), expected[None]) * total
        if beyond > 0:
            surprising = beyond > (1 + rules.excess) * planned + 4 * planned**0.5
            weight = min(1, count * workers / (rules.heavy * total)) if surprising else 0
            slack = rules.slack * (1 - weight) if weight else max(rules.slack, 3 * chance)
            ring, tries = rings[cell(key)], 0
            worker = (home + ring[0]) % workers
            while sent[worker] > (1 + slack) * total * shares[worker] + rules.margin:
                if tries >= ring[1] == workers:
                    break
                longer = tries >= ring[1]
                ring[:] = [ring[1], ring[1] + 1] if longer else [(ring[0] + 1) % ring[1], ring[1]]
                worker = (home + ring[0]) % workers
                tries += 1
        sent[worker] += 1
        out.append(worker)
    return out
