"""Match orders with payments of the same shop, by a class."""

import json
import sys
import time
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession


class Matcher:
    schema = "shop long, orders long, payments long"

    def __init__(self, name):
        self.spark = SparkSession.builder.appName(name).getOrCreate()

    def read(self, start, count, column):
        # Ten shops have half of the rows.
        shop = "if(id % 2 = 0, (id div 2) % 10, 50 + id % 1500)"
        return self.spark.range(start, start + count).selectExpr(f"{shop} as {column}", "id")

    @staticmethod
    def match(key, orders, payments):
        time.sleep(0.004 * (len(orders) + len(payments)))
        return pd.DataFrame([(key[0], len(orders), len(payments))])

    def run(self):
        orders = self.read(0, 8_000, "shop").groupBy("shop")
        payments = self.read(1_000, 8_000, "store").groupBy("store")
        return orders.cogroup(payments).applyInPandas(self.match, self.schema)


if __name__ == "__main__":
    matched = Matcher("matching").run().collect()
    Path(sys.argv[1]).write_text(json.dumps(sorted(map(tuple, matched))))
