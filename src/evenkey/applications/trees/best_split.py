"""Find the best split of a leaf, from the impurity that histograms estimate for both sides."""

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
    """Compute how mixed the classes are; the impurity of a single class is 0.

    Parameters
    ----------
    counts
        The weight of each class, float64[..., classes].
    criterion
        ``gini``: ``1 - sum p^2``; ``entropy``: ``-sum p log2 p``.

    Returns
    -------
    float64[...]
        The impurity. It is also 0 if all weights are 0.

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
    """Find the threshold of a feature that most reduces the impurity of a leaf.

    The candidates for the threshold are the points that cut the leaf's values into parts of equal
    weight; ``together.uniform`` finds them. The ``sum`` of the histogram of a class estimates the
    weight of the class to the left of a candidate (Ben-Haim and Tom-Tov 2010, section 2.2).

    Parameters
    ----------
    place
        The leaf to split, and the feature to split by.
    classes
        Number of classes.
    by_class
        Maps the number of a class to the histogram of the feature's values in this leaf.
    together
        The merged histogram of all classes.
    candidates
        Number of parts into which the candidates cut the values, at least 2.
    criterion
        The measure of impurity.
    min_leaf
        Minimum weight on each side of the threshold.

    Returns
    -------
    NodeSplit or None
        The best split; the first if several are equally good. None if no candidate leaves enough
        weight on both sides.
    """
    points = np.unique(together.uniform(candidates))
    left = np.zeros((len(points), classes))
    total = np.zeros(classes)
    for number, histogram in by_class.items():
        left[:, number] = histogram.sum(points)
        total[number] = histogram.total
    right = np.maximum(total - left, 0)
    weights = np.stack([left.sum(axis=1), right.sum(axis=1)])
    # The estimated weight of an empty side may differ slightly from 0.
    allowed = (weights >= max(min_leaf, 1e-9 * total.sum())).all(axis=0)
    if not allowed.any():
        return None
    sides = weights * impurity(np.stack([left, right]), criterion)
    gains = total.sum() * impurity(total, criterion) - sides.sum(axis=0)
    best = int(np.where(allowed, gains, -np.inf).argmax())
    return NodeSplit(*place, float(points[best]), float(gains[best]), left[best], right[best])
