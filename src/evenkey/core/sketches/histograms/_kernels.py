"""Numba kernels of approximate histograms.

A histogram is a float64[4, capacity] array with a column for each bin, in order of positions. The
rows are `POSITION`, `WEIGHT`, `LOW` and `HIGH`; the first `held` columns are in use. One array can
hold several histograms: histogram i is in the columns ``starts[i]`` to ``starts[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np

from evenkey.core.extras import load_extra

njit = load_extra("numba", "kernels", "an approximate histogram").njit
POSITION, WEIGHT, LOW, HIGH = 0, 1, 2, 3


@njit(cache=True)
def update(bins, starts, held, groups, values, weights):
    """Add values to the histograms of their groups; values of weight 0 change nothing."""
    for i in range(len(values)):
        if weights[i] > 0:
            group = groups[i]
            own = bins[:, starts[group] : starts[group + 1]]
            held[group] = _add(own, held[group], values[i], weights[i])


@njit(cache=True)
def reduce(parts, part_starts, bins, starts, held):
    """Merge each group's bins; `parts`, sorted by (group, position, weight), is overwritten."""
    for group in range(len(held)):
        begin, end = part_starts[group], part_starts[group + 1]
        if begin < end:
            count = _unite_equals(parts[:, begin:end])
            own = bins[:, starts[group] : starts[group + 1]]
            held[group] = _shrink(parts[:, begin : begin + count], own)


@njit(cache=True)
def sums(bins, points, between, below, above):
    """Compute the weight at or below each point: an estimate, a lower and an upper bound."""
    held = bins.shape[1]
    for k in range(len(points)):
        point = points[k]
        least = 0.0
        most = 0.0
        for i in range(held):
            if bins[HIGH, i] <= point:
                least += bins[WEIGHT, i]
            if bins[LOW, i] <= point:
                most += bins[WEIGHT, i]
        below[k] = least
        above[k] = most
        between[k] = min(max(_trapezoids(bins, point), least), most)


@njit(cache=True)
def uniform(bins, lows, weights_by_low, highs, weights_by_high, points):
    """Find the points that cut the weight into equal parts: the inverse of `sums`.

    `lows` and `highs` are the ends of the bins in ascending order. `weights_by_low` and
    `weights_by_high` are the weights of all bins up to each of these ends.
    """
    held = bins.shape[1]
    total = weights_by_low[held - 1]
    left, height, running, i = lows[0], 0.0, 0.0, 0
    early, late = 0, 0
    for k in range(len(points)):
        wanted = total * ((k + 1) / (len(points) + 1))
        while early < held - 1 and weights_by_low[early] < wanted:
            early += 1
        while late < held - 1 and weights_by_high[late] < wanted:
            late += 1
        while True:
            right = bins[POSITION, i] if i < held else highs[held - 1]
            other = _height(bins, i) if i < held else 0.0
            inside = (height + other) / 2
            if running + inside >= wanted or i == held:
                point = left + (right - left) * _place(height, other, wanted - running)
                break
            jump = bins[WEIGHT, i] if other == 0.0 else 0.0
            if running + inside + jump >= wanted:
                point = right
                break
            running += inside + jump
            left, height = right, other
            i += 1
        points[k] = max(min(point, highs[late]), lows[early])


@njit(cache=True, inline="always")
def _height(bins, i):
    """Return the height of the trapezoids at a bin; 0 for a bin with a single value (a step)."""
    return bins[WEIGHT, i] if bins[LOW, i] < bins[HIGH, i] else 0.0


@njit(cache=True)
def _trapezoids(bins, point):
    """Estimate the weight up to a point (Algorithm 3); a bin has half its weight on each side."""
    held = bins.shape[1]
    left, height, running = bins[LOW].min(), 0.0, 0.0
    if point < left:
        return 0.0
    for i in range(held + 1):
        right = bins[POSITION, i] if i < held else bins[HIGH].max()
        other = _height(bins, i) if i < held else 0.0
        if point < right:
            part = (point - left) / (right - left)
            return running + (height + height + (other - height) * part) / 2 * part
        running += (height + other) / 2
        if i < held and other == 0.0:
            running += bins[WEIGHT, i]
        left, height = right, other
    return running


@njit(cache=True, inline="always")
def _place(height, other, weight):
    """Solve the quadratic equation of Algorithm 4, in a form that also covers equal heights."""
    if weight <= 0.0:
        return 0.0
    root = np.sqrt(max(height * height + 2 * (other - height) * weight, 0.0))
    return min(2 * weight / (height + root), 1.0) if height + root > 0 else 1.0


@njit(cache=True, inline="always")
def _mean(left, left_weight, right, right_weight):
    """Return the position of two joined bins; rounding must not move it past the right bin."""
    return min(left + (right - left) * (right_weight / (left_weight + right_weight)), right)


@njit(cache=True)
def _join(bins, left, right, into):
    """Join two bins into one."""
    bins[POSITION, into] = _mean(
        bins[POSITION, left], bins[WEIGHT, left], bins[POSITION, right], bins[WEIGHT, right]
    )
    bins[WEIGHT, into] = bins[WEIGHT, left] + bins[WEIGHT, right]
    bins[LOW, into] = min(bins[LOW, left], bins[LOW, right])
    bins[HIGH, into] = max(bins[HIGH, left], bins[HIGH, right])


@njit(cache=True)
def _write(bins, place, value, weight):
    bins[POSITION, place] = value
    bins[WEIGHT, place] = weight
    bins[LOW, place] = value
    bins[HIGH, place] = value


@njit(cache=True)
def _add(bins, held, value, weight):
    """Add a bin for a value; if bins are full, join the two closest. Return the number of bins."""
    capacity = bins.shape[1]
    place = np.searchsorted(bins[POSITION, :held], value)
    if place < held and bins[POSITION, place] == value:
        bins[WEIGHT, place] += weight
        return held
    if held < capacity:
        for row in range(4):
            for i in range(held, place, -1):
                bins[row, i] = bins[row, i - 1]
        _write(bins, place, value, weight)
        return held + 1
    # Algorithm 1: find the closest pair of capacity + 1 bins, the leftmost of equally close pairs.
    # Either the new bin is joined to a neighbour, or two other bins are joined and the new bin
    # takes the column that is then free.
    best, pair = np.inf, -1
    for i in range(place - 1):
        gap = bins[POSITION, i + 1] - bins[POSITION, i]
        if gap < best:
            best, pair = gap, i
    neighbour = -1
    if place > 0 and value - bins[POSITION, place - 1] < best:
        best, neighbour = value - bins[POSITION, place - 1], place - 1
    if place < held and bins[POSITION, place] - value < best:
        best, neighbour = bins[POSITION, place] - value, place
    for i in range(place, held - 1):
        gap = bins[POSITION, i + 1] - bins[POSITION, i]
        if gap < best:
            best, pair, neighbour = gap, i, -1
    if neighbour >= 0:
        _absorb(bins, neighbour, value, weight)
    elif pair < place:
        _join(bins, pair, pair + 1, pair)
        for row in range(4):
            for i in range(pair + 1, place - 1):
                bins[row, i] = bins[row, i + 1]
        _write(bins, place - 1, value, weight)
    else:
        _join(bins, pair, pair + 1, pair + 1)
        for row in range(4):
            for i in range(pair, place, -1):
                bins[row, i] = bins[row, i - 1]
        _write(bins, place, value, weight)
    return held


@njit(cache=True)
def _absorb(bins, place, value, weight):
    """Add a new value to an existing bin."""
    position, old = bins[POSITION, place], bins[WEIGHT, place]
    if value < position:
        bins[POSITION, place] = _mean(value, weight, position, old)
    else:
        bins[POSITION, place] = _mean(position, old, value, weight)
    bins[WEIGHT, place] = old + weight
    bins[LOW, place] = min(bins[LOW, place], value)
    bins[HIGH, place] = max(bins[HIGH, place], value)


@njit(cache=True)
def _unite_equals(parts):
    """Join the bins at the same position; return the number of bins left."""
    last = 0
    for i in range(1, parts.shape[1]):
        if parts[POSITION, i] == parts[POSITION, last]:
            _join(parts, last, i, last)
        else:
            last += 1
            for row in range(4):
                parts[row, last] = parts[row, i]
    return last + 1


@njit(cache=True)
def _shrink(parts, bins):
    """Join the closest bins, the leftmost of equally close ones, until all fit (Algorithm 2)."""
    count, capacity = parts.shape[1], bins.shape[1]
    following = np.arange(1, count + 1)
    before = np.arange(-1, count - 1)
    leaves = 1
    while leaves < count:
        leaves *= 2
    # A tree whose root is the smallest gap; leaf i is the gap between bin i and the next bin.
    gaps = np.full(2 * leaves, np.inf)
    for i in range(count - 1):
        gaps[leaves + i] = parts[POSITION, i + 1] - parts[POSITION, i]
    for node in range(leaves - 1, 0, -1):
        gaps[node] = min(gaps[2 * node], gaps[2 * node + 1])
    for _ in range(count - capacity):
        node = 1
        while node < leaves:
            node = 2 * node if gaps[2 * node] <= gaps[2 * node + 1] else 2 * node + 1
        i = node - leaves
        j = following[i]
        _join(parts, i, j, i)
        following[i] = following[j]
        _set_gap(gaps, leaves + j, np.inf)
        if following[i] < count:
            before[following[i]] = i
            _set_gap(gaps, node, parts[POSITION, following[i]] - parts[POSITION, i])
        else:
            _set_gap(gaps, node, np.inf)
        if i > 0:
            _set_gap(gaps, leaves + before[i], parts[POSITION, i] - parts[POSITION, before[i]])
    i, kept = 0, 0
    while i < count:
        for row in range(4):
            bins[row, kept] = parts[row, i]
        i = following[i]
        kept += 1
    return kept


@njit(cache=True)
def _set_gap(gaps, node, gap):
    gaps[node] = gap
    while node > 1:
        node //= 2
        gaps[node] = min(gaps[2 * node], gaps[2 * node + 1])
