"""Learn classes of documents from a stream, and classify other documents with the model.

python examples/naive_bayes.py
"""

from __future__ import annotations

from pyspark.sql import functions as F

from evenkey import run
from evenkey.applications import ApplicationConfig, Documents, classify, classify_by_words
from evenkey.spark import session


def main(records: int = 4000, words: int = 2000) -> float:
    """Learn from generated documents, and return the accuracy on new ones."""
    report = run(
        ApplicationConfig(
            application="naive-bayes(alpha=1)",
            dataset=f"documents(words={words})",
            messages=records,
            grouping="pkg",
            workers=4,
            sources=2,
            epochs=3,
        )
    )
    for epoch in report.to_json()["learned"]:
        print(f"epoch {epoch['epoch']}: {epoch['records']} records, accuracy {epoch['accuracy']}")

    # Documents that the model has not seen.
    unseen = Documents(words=words, length=200, seed=1).records(0, 200)
    rows = list(enumerate(unseen.to_pydict()["label"]))
    texts = [(*row, text) for row, text in zip(rows, unseen["text"].to_pylist(), strict=True)]
    frame = session().createDataFrame(texts, "id int, label string, text string")
    classified = classify(frame, report.model)
    right = classified.agg(F.avg((F.col("label") == F.col("prediction")).cast("double"))).first()[0]
    print(f"{right:.0%} of 200 other documents were classified rightly")

    # Classify them again word by word: the grouping chooses the workers that answer for a word.
    asked = classify_by_words(frame, "id", "text", report.model, grouping="pkg", workers=4)
    same = asked.join(classified, asked["id"] == classified["id"].cast("string"))
    agree = same.where(asked["prediction"] == classified["prediction"]).count()
    print(f"{agree} of them alike when their words are asked of workers")
    return float(right)


if __name__ == "__main__":
    main()
