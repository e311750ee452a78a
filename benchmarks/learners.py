"""What learners hold on each worker, and how accurate trees are: the same on every machine.

Naive Bayes learns 20,000 generated documents in one epoch. Decision trees learn a million generated
records in 20 epochs, and small sets of scikit-learn, which are read once per level of the tree.
scikit-learn's tree of the same depth gets all records together.

    python -m benchmarks.learners    # one JSON object, in a few minutes
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from evenkey.applications import Clusters, DecisionTree, Documents, InProcess, NaiveBayes
from evenkey.applications.trees.model import feature_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.applications import TreeModel

RECORDS, UNSEEN, EPOCHS, WORKERS = 1_000_000, 50_000, 20, 10
STREAM = Clusters(length=RECORDS + UNSEEN)
SETS = (("iris", 3, 5), ("wine", 4, 5), ("breast_cancer", 4, 3), ("digits", 6, 2))
"""Name, depth of the tree, and number of parts of the cross-validation."""


def epochs() -> list[pa.Table]:
    """Cut the generated records into epochs."""
    size = RECORDS // EPOCHS
    return [STREAM.records(start, start + size) for start in range(0, RECORDS, size)]


def naive_bayes() -> list[dict[str, Any]]:
    """Counters of (word, class) pairs on all workers and on the worker with most, and max/mean."""
    rows: list[dict[str, Any]] = []
    for grouping in ("kg", "pkg", "dkg", "sg"):
        run = InProcess(NaiveBayes(), grouping, workers=8, sources=4)
        trained = run.train([Documents().records(0, 20_000)])
        counters, messages = trained.counters[0], trained.messages[0]
        rows.append(
            {
                "grouping": grouping,
                "counters": int(counters.sum()),
                "over_kg": counters.sum() / (rows[0]["counters"] if rows else counters.sum()),
                "most": int(counters.max()),
                "max_over_mean": messages.max() / messages.mean(),
            }
        )
    return rows


def accuracy(model: TreeModel, records: pa.Table) -> float:
    """Percent of the records whose label the model predicts."""
    predicted = np.array(model.predict(records).to_pylist())
    return float(100 * np.mean(predicted == np.array(records["label"].to_pylist())))


def matrix(tables: list[pa.Table]) -> tuple[NDArray[Any], list[str]]:
    """The features of records, shape [n, features], and their labels."""
    values = np.concatenate([feature_matrix(each["features"]) for each in tables])
    return values, [label for each in tables for label in each["label"].to_pylist()]


def trees() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Histograms in the epoch with most, and accuracy on unseen records in percent."""
    learned, unseen = epochs(), STREAM.records(RECORDS, RECORDS + UNSEEN)
    held, compared = [], []
    for grouping, depth in (("kg", 6), ("sg", 6), ("pkg", 6), ("pkg", 9)):
        learner = DecisionTree(max_depth=depth, max_leaves=2**depth)
        run = InProcess(learner, grouping, WORKERS, sources=2)
        trained = run.train(learned)
        histograms = trained.counters.sum(axis=1).max()
        most, name = trained.counters.max(), f"{grouping}, depth {depth}"
        held.append({"run": name, "histograms": int(histograms), "most": int(most)})
        if grouping == "pkg":
            other = DecisionTreeClassifier(max_depth=depth, random_state=0)
            theirs = 100 * other.fit(*matrix(learned)).score(*matrix([unseen]))
            ours = accuracy(trained.model, unseen)
            compared.append({"set": f"clusters, depth {depth}", "ours": ours, "theirs": theirs})
    return held, compared


def records_of(values: NDArray[Any], labels: NDArray[Any]) -> pa.Table:
    lists = pa.array(list(values.astype(float)), pa.list_(pa.float64()))
    return pa.table({"label": [str(label) for label in labels], "features": lists})


def small_sets() -> list[dict[str, Any]]:
    """Mean accuracy over a cross-validation, in percent."""
    rows = []
    for name, depth, folds in SETS:
        bundle = getattr(datasets, f"load_{name}")()
        ours, theirs = [], []
        parts = StratifiedKFold(folds, shuffle=True, random_state=0)
        for seen, unseen in parts.split(bundle.data, bundle.target):
            other = DecisionTreeClassifier(max_depth=depth, random_state=0)
            other.fit(bundle.data[seen], bundle.target[seen])
            theirs.append(100 * other.score(bundle.data[unseen], bundle.target[unseen]))
            learner = DecisionTree(max_depth=depth, min_leaf=1)
            passes = [records_of(bundle.data[seen], bundle.target[seen])] * (depth + 1)
            model = InProcess(learner, "pkg", workers=4, sources=2).train(passes).model
            ours.append(accuracy(model, records_of(bundle.data[unseen], bundle.target[unseen])))
        figures = {"ours": float(np.mean(ours)), "theirs": float(np.mean(theirs))}
        rows.append({"set": f"{name}, depth {depth}", **figures})
    return rows


def main() -> None:
    held, compared = trees()
    printed = {
        "naive_bayes": naive_bayes(),
        "large_trees": held,
        "accuracy": [*small_sets(), *compared],
    }
    sys.stdout.write(json.dumps(printed, indent=1) + "\n")


if __name__ == "__main__":
    main()
