"""Where a leaf is best split: what histograms say of the impurity on either side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from evenkey.applications.trees.model import NodeSplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenkey.core.sketches import ApproximateHistogram

Criterion: TypeAlias = Literal["gini", "entropy"]


def impurity(counts: NDArray[np.float64], criterion: Criterion) -> NDArray[np.float64]:
    """Say how mixed classes are, 0 where there is only one.

    Parameters
    ----------
    counts
        float64[..., classes], weight of each class.
    criterion
        ``gini``: ``1 - sum p^2``; ``entropy``: ``-sum p log2 p``.

    Returns
    -------
    float64[...]
        0 also where there is no weight.

    Examples
    --------
    >>> impurity(np.array([[3.0, 1.0], [2.0, 2.0]]), "gini").tolist()
    [0.375, 0.5]
    """
    totals = counts.sum(axis=-1, keepdims=True)
    shares = counts / np.where(totals > 0, totals, 1)
    if criterion == "gini":
        return np.asarray(np.where(totals[..., 0] > 0, 1 - (shares**2).sum(axis=-1), 0))
    logarithms = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.abs((shares * logarithms).sum(axis=-1)))


def best_split(
    place: tuple[int, int],
    classes: int,
    by_class: Mapping[int, ApproximateHistogram],
    together: ApproximateHistogram,
    *,
    candidates: int,
    criterion: Criterion,
    min_leaf: float,
) -> NodeSplit | None:
    """Find the threshold of a feature that takes most impurity from a leaf.

    Candidates are the points that cut the leaf's values into parts of equal weight (``uniform``
    of all classes together), and what lies left of one is estimated by ``sum`` of each class
    (Ben-Haim and Tom-Tov 2010, section 2.2).

    Parameters
    ----------
    place
        The leaf that is split, and the feature that it is split by.
    classes
        How many classes there are.
    by_class
        Class to the histogram of the feature's values in this leaf.
    together
        These histograms merged.
    candidates
        Into how many parts values are cut, at least 2.
    criterion
        How impurity is measured.
    min_leaf
        The least weight on either side.

    Returns
    -------
    NodeSplit or None
        The first of equals; None where no candidate leaves enough weight on both sides.
    """
    points = np.unique(together.uniform(candidates))
    left = np.zeros((len(points), classes))
    total = np.zeros(classes)
    for number, histogram in by_class.items():
        left[:, number] = histogram.sum(points)
        total[number] = histogram.total
    right = np.maximum(total - left, 0)
    weights = np.stack([left.sum(axis=1), right.sum(axis=1)])
    # Estimates of classes add up to a little more or less than a side that is to be empty.
    allowed = (weights >= max(min_leaf, 1e-9 * total.sum())).all(axis=0)
    if not allowed.any():
        return None
    sides = weights * impurity(np.stack([left, right]), criterion)
    gains = total.sum() * impurity(total, criterion) - sides.sum(axis=0)
    best = int(np.where(allowed, gains, -np.inf).argmax())
    return NodeSplit(*place, float(points[best]), float(gains[best]), left[best], right[best])
