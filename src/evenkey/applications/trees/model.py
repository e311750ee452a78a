"""A decision tree: tests on features, and in its leaves the classes that came there."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.errors import RunError
from evenkey.pipeline.learn import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_CLASSES = b"classes"


class NodeSplit(NamedTuple):
    """How a leaf is split in two: values at or below the threshold go left."""

    leaf: int
    feature: int
    threshold: float
    gain: float
    """Impurity that the split takes away, times the leaf's weight."""
    left: NDArray[np.float64]
    """float64[classes], the estimated weight that goes left."""
    right: NDArray[np.float64]
    """float64[classes]."""


@dataclass(frozen=True, eq=False)
class TreeModel(Model):
    """A binary decision tree; node 0 is the root. Never changed: it grows into another one.

    Parameters
    ----------
    classes
        Labels, ascending.
    features
        int32[nodes], the feature that a node tests; -1 in a leaf.
    thresholds
        float64[nodes]; a record goes left if its feature's value is at most this.
    children
        int32[nodes, 2], left and right; -1 in a leaf.
    depths
        int32[nodes], 0 for the root.
    counts
        float64[nodes, classes], weight of the records of each class that came to a node since
        it is there, and what its parent's split said of those before.

    Examples
    --------
    >>> from evenkey.applications import Clusters, DecisionTree, InProcess
    >>> learned = InProcess(DecisionTree(max_depth=2), "pkg", workers=4)
    >>> trained = learned.train([Clusters(features=3, length=400).records(0, 400)])
    >>> trained.model.depth, trained.model.classify(np.zeros((1, 3))).to_pylist()
    (1, ['class 2'])

    A tree travels as a table, and leads records to its leaves.

    >>> tree = TreeModel.from_table(trained.model.to_table())
    >>> tree.leaves.tolist(), tree.leaves_of(np.zeros((1, 3))).tolist()
    ([1, 2], [1])

    By hand: one leaf, two classes, one split.

    >>> from evenkey.applications.trees.model import NodeSplit
    >>> one = TreeModel.empty().knowing(["high", "low"])
    >>> low, high = np.array([0.0, 4.0]), np.array([3.0, 0.0])
    >>> split = NodeSplit(leaf=0, feature=2, threshold=0.5, gain=1.0, left=low, right=high)
    >>> one.grown([split]).classify(np.array([[9.0, 9.0, 0.2]])).to_pylist()
    ['low']
    """

    classes: tuple[str, ...]
    features: NDArray[np.int32]
    thresholds: NDArray[np.float64]
    children: NDArray[np.int32]
    depths: NDArray[np.int32]
    counts: NDArray[np.float64]

    @classmethod
    def empty(cls) -> TreeModel:
        """Make the tree of one leaf that no record came to."""
        return cls((), *_leaves(1, 0), np.zeros((1, 0)))

    @classmethod
    def from_table(cls, table: pa.Table) -> TreeModel:
        """Make the model that gave a table."""
        classes = json.loads((table.schema.metadata or {})[_CLASSES])
        children = [table[name].to_numpy() for name in ("left", "right")]
        return cls(
            tuple(classes),
            table["feature"].to_numpy(),
            table["threshold"].to_numpy(),
            np.stack(children, axis=1),
            table["depth"].to_numpy(),
            np.array(table["counts"].to_pylist()).reshape(table.num_rows, len(classes)),
        )

    def to_table(self) -> pa.Table:
        """Give a row a node: feature, threshold, left, right, depth and counts by class."""
        columns = {
            "feature": self.features,
            "threshold": self.thresholds,
            "left": self.children[:, 0],
            "right": self.children[:, 1],
            "depth": self.depths,
            "counts": pa.array(list(self.counts), pa.list_(pa.float64())),
        }
        metadata = {_CLASSES: json.dumps(self.classes).encode()}
        return pa.table(columns).replace_schema_metadata(metadata)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """int64[leaves], the nodes that are leaves, ascending."""
        return np.flatnonzero(self.features < 0)

    @property
    def depth(self) -> int:
        """Tests between the root and the deepest leaf."""
        return int(self.depths.max())

    def leaves_of(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Lead records down the tree.

        Parameters
        ----------
        values
            float64[n, features]; what is not a number goes right.

        Returns
        -------
        int32[n]
            The leaf of each record.

        Raises
        ------
        RunError
            The tree tests a feature that the records do not have.
        """
        most = int(self.features.max())
        if most >= values.shape[1] and len(values):
            message = (
                f"records have {values.shape[1]} features, and the tree tests feature number "
                f"{most} (from 0): give it records like those that it learned from"
            )
            raise RunError(message)
        nodes = np.zeros(len(values), dtype=np.int32)
        rows = np.arange(len(values))
        for _ in range(self.depth):
            features = self.features[nodes]
            right = ~(values[rows, features] <= self.thresholds[nodes])
            nodes = np.where(features < 0, nodes, self.children[nodes, right.astype(np.intp)])
        return nodes

    def classify(self, values: NDArray[np.float64]) -> pa.StringArray:
        """Give the class of each row of float64[n, features]: the heaviest of its leaf.

        Equally heavy classes go by their order; null where no record ever came.
        """
        heaviest = self.counts.argmax(axis=1) if self.classes else np.zeros(len(self.counts))
        leaves = self.leaves_of(values)
        unknown = self.counts.sum(axis=1) == 0
        places = pa.array(heaviest[leaves].astype(np.int64), mask=unknown[leaves])
        return pa.array(self.classes, pa.string()).take(places)

    def predict(self, records: pa.Table) -> pa.StringArray:
        """Give the class of each record's ``features``, null where these are null."""
        features = records["features"]
        there = features.is_valid()
        labels = self.classify(feature_matrix(features.filter(there)))
        return pc.replace_with_mask(pa.nulls(len(features), pa.string()), _whole(there), labels)

    def knowing(self, labels: Iterable[str]) -> TreeModel:
        """Make the same tree with more classes."""
        classes = tuple(sorted({*self.classes, *labels}))
        counts = np.zeros((len(self.counts), len(classes)))
        counts[:, [classes.index(label) for label in self.classes]] = self.counts
        return replace(self, classes=classes, counts=counts)

    def grown(self, splits: Sequence[NodeSplit]) -> TreeModel:
        """Make the tree whose leaves are split; new leaves stand behind all nodes."""
        if not splits:
            return self
        features, thresholds, children = (
            array.copy() for array in (self.features, self.thresholds, self.children)
        )
        depths = np.repeat([self.depths[split.leaf] + 1 for split in splits], 2)
        fresh = _leaves(2 * len(splits), depths)
        for place, split in enumerate(splits):
            first = len(self.features) + 2 * place
            features[split.leaf] = split.feature
            thresholds[split.leaf] = split.threshold
            children[split.leaf] = first, first + 1
        counts = [side for split in splits for side in (split.left, split.right)]
        return TreeModel(
            self.classes,
            np.concatenate([features, fresh[0]]),
            np.concatenate([thresholds, fresh[1]]),
            np.concatenate([children, fresh[2]]),
            np.concatenate([self.depths, fresh[3]]),
            np.concatenate([self.counts, np.reshape(counts, (-1, len(self.classes)))]),
        )


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays([pa.array([], column.type), *column.chunks])


def feature_matrix(features: pa.ChunkedArray) -> NDArray[np.float64]:
    """Make float64[n, features] of lists of numbers.

    Raises
    ------
    RunError
        The lists differ in length.
    """
    lengths = pc.unique(pc.list_value_length(features)).to_pylist()
    if len(lengths) > 1:
        message = f"records have {sorted(lengths)} features: give all of them the same number"
        raise RunError(message)
    values: NDArray[np.float64] = pc.list_flatten(features).to_numpy().astype(np.float64)
    return values.reshape(len(features), lengths[0] if lengths else 0)


def _leaves(
    count: int, depths: NDArray[np.int32] | int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Make features, thresholds, children and depths of leaves."""
    return (
        np.full(count, -1, dtype=np.int32),
        np.zeros(count),
        np.full((count, 2), -1, dtype=np.int32),
        np.broadcast_to(depths, count).astype(np.int32),
    )
