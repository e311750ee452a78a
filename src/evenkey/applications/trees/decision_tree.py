"""The streaming parallel decision tree of Ben-Haim and Tom-Tov."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.applications.trees.best_split import Criterion, best_split
from evenkey.applications.trees.clusters import Clusters
from evenkey.applications.trees.leaf_histograms import LeafHistograms
from evenkey.applications.trees.model import NodeSplit, TreeModel, feature_matrix
from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.sketches import check_capacity
from evenkey.pipeline.learn import Learner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from evenkey.pipeline.learn import LearnConfig

CLASS = "class"
"""Key of the messages of leaves that can no longer split: only the records' class is counted."""


@dataclass(frozen=True)
class DecisionTree(Learner[TreeModel]):
    """A streaming parallel decision tree (``decision-tree``), the PKG paper's section 4.1.

    A record with D features becomes D messages, one per feature. The key of a message is the
    number of the feature; the message also contains the leaf, the class and the value. Workers
    keep a histogram for each (feature, leaf, class) that they receive. At the end of an epoch the
    histograms are merged, and each leaf is split once if a split reduces impurity. The messages
    of the next epoch are made with the new tree (Ben-Haim and Tom-Tov, A Streaming Parallel
    Decision Tree Algorithm, JMLR 11, 2010). As in that paper, each epoch starts with empty
    histograms (decision 071). A record in a leaf that can no longer split becomes one message
    with the key ``class``, which counts the record's class.

    With C classes, L leaves that can split and W workers, all workers together hold at most
    ``D * C * L`` histograms under key grouping, ``2 * D * C * L`` under partial key grouping, and
    ``W * D * C * L`` under shuffle grouping.

    Parameters
    ----------
    max_depth
        Maximum number of tests between the root and a leaf, at least 1; the tree grows by one
        level per epoch.
    max_leaves
        Maximum number of leaves, at least 2. If this maximum does not allow all splits, the splits
        with the largest product of impurity reduction and number of records are made.
    min_leaf
        Minimum number of records of one epoch on each side of a split, at least 1.
    min_gain
        Minimum reduction of impurity by a split, not negative.
    bins
        Maximum number of bins of a histogram, at least 2.
    candidates
        Number of parts of equal weight into which a leaf's values are cut to find possible
        thresholds, at least 2.
    criterion
        ``gini`` or ``entropy``.

    Raises
    ------
    ConfigurationError
        A parameter is out of its range.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import numpy as np
    >>> tree = DecisionTree(min_leaf=1)
    >>> records = pa.table({"label": ["low", "low", "high"], "features": [[0.1], [0.3], [0.9]]})
    >>> messages = tree.messages(records, tree.start())
    >>> messages.slice(0, 1).to_pylist()
    [{'record': 0, 'key': '0', 'leaf': 0, 'label': 'low', 'value': 0.1}]
    >>> merged = tree.aggregator.partial(messages, by=["key"])
    >>> model = tree.learn(tree.start(), merged)
    >>> model.features.tolist(), model.thresholds.tolist()
    ([0, -1, -1], [0.3, 0.0, 0.0])
    >>> model.classify(np.array([[0.2], [0.7]])).to_pylist()
    ['low', 'high']

    >>> tree.restore(model.to_table()).depth
    1

    The columns that are features by default, and the number of histograms on a worker.

    >>> schema = pa.schema({"label": pa.string(), "width": pa.float64(), "name": pa.string()})
    >>> from evenkey.applications import LearnConfig
    >>> tree.columns(LearnConfig(dataset="clusters"), schema)["features"]
    ['width']
    >>> tree.counters(tree.aggregator.partial(messages, by=["key"]))
    2
    """

    name: ClassVar[str] = "decision-tree"
    summary: ClassVar[str] = "a decision tree on numbers, grown by histograms that merge"
    fields: ClassVar = pa.schema([("features", pa.list_(pa.float64()))])
    streams: ClassVar = MappingProxyType({Clusters.family: Clusters})

    max_depth: int = 6
    max_leaves: int = 64
    min_leaf: int = 10
    min_gain: float = 0.0
    bins: int = 64
    candidates: int = 64
    criterion: Criterion = "gini"

    def __post_init__(self) -> None:
        check_fields(self)
        least = {"max_depth": 1, "max_leaves": 2, "min_leaf": 1, "min_gain": 0, "candidates": 2}
        for name, lowest in least.items():
            value = getattr(self, name)
            if not lowest <= value < float("inf"):
                message = f"decision-tree: {name} = {value}: must be at least {lowest}"
                raise ConfigurationError(message)
        check_capacity(self.bins)

    @property
    def aggregator(self) -> LeafHistograms:
        """The aggregator that builds histograms of each feature by leaf and class."""
        return LeafHistograms(self.bins)

    def columns(self, config: LearnConfig, schema: pa.Schema) -> Mapping[str, Sequence[str]]:
        """Return the columns that the option `features` names; by default all numeric columns.

        The column of the label is not a feature by default.
        """
        if config.features:
            return {"features": config.features}
        numbers = [
            field.name
            for field in schema
            if (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
            and field.name != config.label
        ]
        if not numbers:
            message = (
                "decision-tree needs numeric columns as features; none of the input's columns is "
                "numeric: "
                f"{', '.join(schema.names)}"
            )
            raise ConfigurationError(message)
        return {"features": numbers}

    def start(self) -> TreeModel:
        """Return a tree that consists of one leaf."""
        return TreeModel.empty()

    def restore(self, table: pa.Table) -> TreeModel:
        """Restore a tree from the table that the tree's method `to_table` returned."""
        return TreeModel.from_table(table)

    def messages(self, records: pa.Table, model: TreeModel) -> pa.Table:
        """Find the leaf of each record, and make one message per feature.

        Returns
        -------
        Table
            ``record`` (int64), ``key`` (string), ``leaf`` (int32), ``label`` (string) and
            ``value`` (float64).
        """
        values = feature_matrix(records["features"])
        count = values.shape[1]
        leaves = model.leaves_of(values)
        splittable = self._splittable(model)[leaves]
        sizes = np.where(splittable, count, 1)
        record = np.repeat(np.arange(len(values)), sizes)
        feature = np.arange(len(record)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        counted = ~splittable[record]
        keys = pa.array([*map(str, range(count)), CLASS])
        return pa.table(
            {
                "record": record,
                "key": keys.take(pa.array(np.where(counted, count, feature))),
                "leaf": leaves[record],
                "label": records["label"].combine_chunks().take(pa.array(record)),
                "value": np.where(counted, 0.0, values[record, feature * ~counted]),
            }
        )

    def learn(self, model: TreeModel, merged: pa.Table) -> TreeModel:
        """Add the epoch's records to the counts of the leaves, and split each leaf at most once."""
        cells = self.aggregator.cells(merged, ["key"])
        model = model.knowing(pc.unique(cells["label"]).to_pylist())
        model = _counted(model, cells)
        found = self._best(model, cells)
        allowed = max(0, self.max_leaves - len(model.leaves))
        best_first = sorted(found, key=lambda split: (-split.gain, split.leaf))[:allowed]
        return model.grown(sorted(best_first, key=lambda split: split.leaf))

    def counters(self, partials: pa.Table) -> int:
        """Count the histograms in partial aggregates."""
        return pc.sum(pc.list_value_length(partials["histograms"])).as_py() or 0

    def _splittable(self, model: TreeModel) -> NDArray[np.bool_]:
        """Return whether each node can be split, in this or a later epoch; bool[nodes]."""
        can_grow = len(model.leaves) < self.max_leaves
        return (model.features < 0) & (model.depths < self.max_depth) & can_grow

    def _best(self, model: TreeModel, cells: pa.Table) -> Iterator[NodeSplit]:
        """Yield the best split of each leaf that has one."""
        cells = cells.filter(pc.not_equal(cells["key"], CLASS))
        feature = pc.cast(cells["key"], pa.int64())
        cells = cells.append_column("feature", feature)
        order = [("leaf", "ascending"), ("feature", "ascending")]
        cells = cells.sort_by([*order, ("label", "ascending")])
        inner = self.aggregator.inner
        together = inner.merge(cells, ["leaf", "feature"]).sort_by(order)
        rows = zip(
            cells["leaf"].to_pylist(),
            cells["feature"].to_pylist(),
            cells["label"].to_pylist(),
            inner.histograms(cells),
            strict=True,
        )
        features = zip(
            itertools.groupby(rows, key=lambda row: (row[0], row[1])),
            inner.histograms(together),
            strict=True,
        )
        splits = (
            best_split(
                place,
                len(model.classes),
                {model.classes.index(label): histogram for *_, label, histogram in group},
                whole,
                candidates=self.candidates,
                criterion=self.criterion,
                min_leaf=self.min_leaf,
            )
            for (place, group), whole in features
        )
        worth = (split for split in splits if split is not None and self._is_worth_it(split))
        for _, of_leaf in itertools.groupby(worth, key=lambda split: split.leaf):
            yield max(of_leaf, key=lambda split: split.gain)

    def _is_worth_it(self, split: NodeSplit) -> bool:
        weight = float(split.left.sum() + split.right.sum())
        # A gain this small can be a rounding error.
        return split.gain > max(self.min_gain, 1e-9) * weight


def _counted(model: TreeModel, cells: pa.Table) -> TreeModel:
    """Add the records of an epoch to the counts of their leaves."""
    # Each record has exactly one message with the key "0" (feature 0) or `CLASS`, so counting
    # these messages counts each record once.
    cells = cells.filter(pc.is_in(cells["key"], value_set=pa.array(["0", CLASS])))
    counts = model.counts.copy()
    rows = zip(*(cells[name].to_pylist() for name in ("leaf", "label", "weights")), strict=True)
    for leaf, label, weights in rows:
        counts[leaf, model.classes.index(label)] += sum(weights)
    return replace(model, counts=counts)
