"""Count the words of text files; each frequent word is on two workers.

python examples/word_count.py FILE...
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey import spark as eks
from evenkey.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def word_count(lines: DataFrame, workers: int = 4) -> DataFrame:
    """Count the words in the column ``value``: ``word`` and ``count``."""
    split = F.explode(F.split(F.lower("value"), r"\W+")).alias("word")
    words = lines.select(split).where("word != ''")
    return eks.aggregate(words, key="word", grouping="pkg", workers=workers, aggregator="count")


def main(paths: list[str]) -> None:
    """Print the ten most frequent words."""
    counts = word_count(session().read.text(paths))
    for row in counts.orderBy(F.desc("count"), "word").limit(10).collect():
        print(f"{row['count']:8d}  {row['word']}")


if __name__ == "__main__":
    main(sys.argv[1:])
