"""A decision tree: tests on features, and counts of classes in its leaves."""

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
    """The split of a leaf into two: records with a value at or below the threshold go left."""

    leaf: int
    feature: int
    threshold: float
    gain: float
    """Reduction of impurity by the split, multiplied by the weight of the leaf."""
    left: NDArray[np.float64]
    """The estimated weight of each class that goes left, float64[classes]."""
    right: NDArray[np.float64]
    """The estimated weight of each class that goes right, float64[classes]."""


@dataclass(frozen=True, eq=False)
class TreeModel(Model):
    """An immutable binary decision tree; node 0 is the root.

    Parameters
    ----------
    classes
        Labels, ascending.
    features
        The number of the feature that a node tests; -1 for a leaf; int32[nodes].
    thresholds
        The threshold of each node's test, float64[nodes]. A record goes left if the value of the
        tested feature is at most the threshold.
    children
        The numbers of the left and right child of each node; -1 for a leaf; int32[nodes, 2].
    depths
        The depth of each node, 0 for the root; int32[nodes].
    counts
        The weight of the records of each class that reached a node, float64[nodes, classes]. For
        records that came before the node was created, this is an estimate: the one that the split
        of the parent node made.

    Examples
    --------
    >>> from evenkey.applications import Clusters, DecisionTree, InProcess
    >>> learned = InProcess(DecisionTree(max_depth=2), "pkg", workers=4)
    >>> trained = learned.train([Clusters(features=3, length=400).records(0, 400)])
    >>> trained.model.depth, trained.model.classify(np.zeros((1, 3))).to_pylist()
    (1, ['class 2'])

    A tree can be converted to a table and back. `leaves_of` finds the leaves of records.

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
        """Return a tree that consists of one leaf without records."""
        return cls((), *_leaves(1, 0), np.zeros((1, 0)))

    @classmethod
    def from_table(cls, table: pa.Table) -> TreeModel:
        """Restore a tree from a table that `to_table` returned."""
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
        """Return one row per node: feature, threshold, left, right, depth and counts by class."""
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
        """The numbers of the nodes that are leaves, ascending, int64[leaves]."""
        return np.flatnonzero(self.features < 0)

    @property
    def depth(self) -> int:
        """Number of tests between the root and the deepest leaf."""
        return int(self.depths.max())

    def leaves_of(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the leaf of each record.

        Parameters
        ----------
        values
            The features of each record, float64[n, features]; NaN goes right.

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
                f"records have {values.shape[1]} features, but the tree tests feature number "
                f"{most} (from 0): pass records with the features that the tree learned from"
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
        """Return the class of each record: the most frequent class of the record's leaf.

        `values` is float64[n, features]. Ties go to the first class. The class is null if the
        leaf has no records.
        """
        heaviest = self.counts.argmax(axis=1) if self.classes else np.zeros(len(self.counts))
        leaves = self.leaves_of(values)
        unknown = self.counts.sum(axis=1) == 0
        places = pa.array(heaviest[leaves].astype(np.int64), mask=unknown[leaves])
        return pa.array(self.classes, pa.string()).take(places)

    def predict(self, records: pa.Table) -> pa.StringArray:
        """Return the class of each record; null if the record's ``features`` are null."""
        features = records["features"]
        there = features.is_valid()
        labels = self.classify(feature_matrix(features.filter(there)))
        return pc.replace_with_mask(pa.nulls(len(features), pa.string()), _whole(there), labels)

    def knowing(self, labels: Iterable[str]) -> TreeModel:
        """Return the same tree with the classes `labels` added."""
        classes = tuple(sorted({*self.classes, *labels}))
        counts = np.zeros((len(self.counts), len(classes)))
        counts[:, [classes.index(label) for label in self.classes]] = self.counts
        return replace(self, classes=classes, counts=counts)

    def grown(self, splits: Sequence[NodeSplit]) -> TreeModel:
        """Return the tree after splitting leaves; the new leaves come after all other nodes."""
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
    """Convert lists of numbers to float64[n, features].

    Raises
    ------
    RunError
        The lists differ in length.
    """
    lengths = pc.unique(pc.list_value_length(features)).to_pylist()
    if len(lengths) > 1:
        message = f"records have {sorted(lengths)} features: all must have the same number"
        raise RunError(message)
    values: NDArray[np.float64] = pc.list_flatten(features).to_numpy().astype(np.float64)
    return values.reshape(len(features), lengths[0] if lengths else 0)


def _leaves(
    count: int, depths: NDArray[np.int32] | int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Return features, thresholds, children and depths of `count` new leaves."""
    return (
        np.full(count, -1, dtype=np.int32),
        np.zeros(count),
        np.full((count, 2), -1, dtype=np.int32),
        np.broadcast_to(depths, count).astype(np.int32),
    )
