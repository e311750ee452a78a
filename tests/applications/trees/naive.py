"""Decision trees written as plain loops over records."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.applications.trees import TreeModel


def naive_gini(labels: Sequence[str]) -> float:
    """Return the number of labels times the probability that two drawn labels differ."""
    return len(labels) - sum(count**2 for count in Counter(labels).values()) / max(len(labels), 1)


def naive_gain(values: Sequence[float], labels: Sequence[str], min_leaf: int) -> float:
    """Return the largest reduction of `naive_gini` by any threshold; -1 if there is none."""
    best = -1.0
    for threshold in set(values):
        sides: dict[bool, list[str]] = {False: [], True: []}
        for value, label in zip(values, labels, strict=True):
            sides[value <= threshold].append(label)
        if min(map(len, sides.values())) >= min_leaf:
            best = max(best, naive_gini(labels) - sum(map(naive_gini, sides.values())))
    return best


def naive_leaf(tree: TreeModel, record: Sequence[float]) -> int:
    """Return the leaf of a tree that a record reaches."""
    node = 0
    while tree.features[node] >= 0:
        right = not record[tree.features[node]] <= tree.thresholds[node]
        node = int(tree.children[node, int(right)])
    return node
