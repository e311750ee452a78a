"""Numba kernels of the groupings that give hot keys more candidate workers than other keys.

Hot keys are also called the head, all other keys the tail. The arguments `rows`, `table`, `heap`
and `head` are the arrays of a SpaceSaving sketch (`evenkey.core.sketches.space_saving.Counters`);
the array `head` is the header of the sketch.
"""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra
from evenkey.core.sketches._kernels import EMPTY, admit, find
from evenkey.groupings._kernels import second_choice

njit = load_extra("numba", "kernels", "a grouping that decides message by message").njit


@njit(cache=True)
def plant_leaves(sent, size):
    """Make the leaves of a tournament tree that finds the least loaded worker.

    `size` is a power of two, at least W. Leaf ``size + w`` is ``sent[w] * size + w``, so it encodes
    both the load and the number of worker w. An inner node is the smaller of its two children. So
    the root encodes the least loaded worker, in ties the worker with the lowest number. Loads must
    be below 2**63 / size.
    """
    tree = np.full(2 * size, np.iinfo(np.int64).max)
    for worker in range(len(sent)):
        tree[size + worker] = sent[worker] * size + worker
    return tree


@njit(cache=True)
def grow(tree, size):
    """Compute all inner nodes of a tournament tree from its leaves (see `plant_leaves`)."""
    for node in range(size - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])


@njit(cache=True, inline="always")
def lift(tree, size, worker):
    """Update the nodes above a leaf that has grown; stop at the first node that does not change."""
    node = size + worker
    while node > 1:
        node >>= 1
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:
            break
        tree[node] = least


@njit(cache=True)
def enough(choices, shares, epsilon, workers):
    """Return whether d = `choices` satisfies the constraint in `DChoices` for every h."""
    head = shares.sum()
    missed, prefix = 1.0, 0.0
    for share in shares:
        missed *= 1 - choices / workers
        prefix += share
        covered = 1 - missed
        spilled = covered**choices * (head - prefix) + covered**2 * (1 - head)
        if prefix + spilled > covered * (1 + epsilon * workers):
            return False
    return True


@njit(cache=True)
def solve(rows, head, threshold, epsilon, workers):
    """Find the least d, at least 2, that satisfies the constraint in `DChoices`; else `workers`."""
    total = head[0].total
    shares = np.empty(head[0].held)
    heavy = 0
    for row in range(head[0].held):
        share = (rows[row].count - rows[row].error) / total
        if share > threshold:
            shares[heavy] = share
            heavy += 1
    if heavy == 0:
        return min(2, workers)
    shares = np.sort(shares[:heavy])[::-1]
    choices = max(2, np.int64(np.ceil(shares[0] * workers)))
    while choices < workers and not enough(choices, shares, epsilon, workers):
        choices += 1
    return min(choices, workers)


@njit(cache=True)
def head_and_tail(keys, weights, rows, table, heap, head, tally, rules, sent, out):
    """Route a hot key to the least loaded of d candidates, any other key to the better of two.

    Parameters
    ----------
    tally
        int64[3]: number of messages so far; number of messages at which d is computed next (0:
        never); and d, the number of candidates of a hot key.
    rules
        Tuple: share of messages above which a key is hot; epsilon, the imbalance that d allows;
        maximum number of messages between two computations of d.
    """
    threshold, epsilon, interval = rules
    weighted = len(weights) > 0
    workers = len(sent)
    size = 1
    while size < workers:
        size *= 2
    tree = plant_leaves(sent, size)
    messages, due, choices, total = tally[0], tally[1], tally[2], head[0].total
    everywhere = choices >= workers
    if everywhere:
        grow(tree, size)
    for i in range(len(keys)):
        hashed = keys[i]
        weight = weights[i] if weighted else 1
        slot = find(table, hashed)
        row = table[slot].row
        if row != EMPTY:
            rows[row].count += weight
        else:
            row = admit(rows, table, heap, head, hashed, weight, slot)
        total += weight
        messages += 1
        if messages == due:
            head[0].total = total
            choices = solve(rows, head, threshold, epsilon, workers)
            due += min(due, interval)
            if choices >= workers and not everywhere:
                grow(tree, size)
            everywhere = choices >= workers

        first = np.int64(hashed) % workers
        second = second_choice(hashed, first, workers)
        if rows[row].count - rows[row].error <= threshold * total:
            best = second if sent[second] < sent[first] else first
        elif everywhere:
            best = tree[1] & (size - 1)
        else:
            step = second - first if second >= first else second - first + workers
            least = tree[size + first]
            worker = turn = first
            for _ in range(1, choices):
                worker = worker + step if worker + step < workers else worker + step - workers
                if worker == turn:
                    worker = worker + 1 if worker + 1 < workers else 0
                    turn = worker
                # A leaf encodes load and worker, so `min` finds the least loaded without a branch.
                least = min(least, tree[size + worker])
            best = least & (size - 1)
        sent[best] += weight
        tree[size + best] += weight * size
        if everywhere:
            lift(tree, size, best)
        out[i] = best
    tally[0], tally[1], tally[2], head[0].total = messages, due, choices, total
