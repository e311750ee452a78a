"""Compare people of equal surnames, as record linkage does: the pairs come from a SQL text."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

PAIRS = """
    select l.person as one, r.person as other, l.born - r.born as years
    from people l join people r on l.surname = r.surname and l.person < r.person
"""


def compared(batches):
    for rows in batches:
        time.sleep(0.004 * len(rows))
        yield rows.assign(score=10 - rows["years"].abs())


spark = SparkSession.builder.appName("linkage").getOrCreate()
# Two surnames have 120 people each, all others two.
people = spark.range(3_240).selectExpr(
    "if(id < 240, id % 2, 100 + id div 2) as surname", "id as person", "1940 + id % 61 as born"
)
people.createOrReplaceTempView("people")
scores = spark.sql(PAIRS).mapInPandas(compared, "one long, other long, years long, score long")
best = scores.where("score > 5").collect()
Path(sys.argv[1]).write_text(json.dumps(sorted(map(tuple, best))))
