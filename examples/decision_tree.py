"""Learn a decision tree from a DataFrame, and classify other rows with it.

python examples/decision_tree.py

A row has a label and four columns of numbers. Each number of a row becomes a message, whose key is
its column. Under partial key grouping, the histograms of a column are on at most two workers.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from evenkey.applications import Clusters, DecisionTree, classify, train
from evenkey.spark import session

COLUMNS = ["length", "width", "height", "weight"]


def main(rows: int = 20_000, depth: int = 5) -> float:
    """Learn from four fifths of the rows, and return the accuracy on the others."""
    spark = session()
    generated = Clusters(classes=3, features=len(COLUMNS), length=rows).records(0, rows)
    table = spark.createDataFrame(
        [(row["label"], *row["features"]) for row in generated.to_pylist()],
        f"kind string, {', '.join(f'{name} double' for name in COLUMNS)}",
    )

    # The learner reads the label, and the numbers of a row as one array.
    records = table.select(F.col("kind").alias("label"), F.array(*COLUMNS).alias("features"))
    known, unknown = records.randomSplit([0.8, 0.2], seed=1)

    # A tree grows by one level in each pass.
    tree = DecisionTree(max_depth=depth)
    model = train(known.cache(), tree, grouping="pkg", workers=4, passes=depth)
    for node in model.to_table().slice(0, 3).to_pylist():
        print(node)

    judged = classify(unknown, model)
    right = judged.filter(F.col("prediction") == F.col("label")).count() / judged.count()
    print(f"{len(model.leaves)} leaves, {right:.1%} of {judged.count()} rows classified rightly")
    known.unpersist()
    return right


if __name__ == "__main__":
    main()
