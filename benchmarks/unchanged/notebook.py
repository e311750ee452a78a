# %% [markdown]
# # How good is each user's typical click?

# %%
import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("typical clicks").getOrCreate()

# %%
# Twelve users have half of the clicks.
clicks = spark.range(16_000).selectExpr(
    "if(id % 2 = 0, (id div 2) % 12, 100 + id % 2000) as user", "id % 97 as amount"
)


# %%
def typical(rows):
    time.sleep(0.004 * len(rows))
    return pd.DataFrame({"user": [rows["user"].iloc[0]], "amount": [rows["amount"].median()]})


# %%
found: Any = clicks.groupBy("user").applyInPandas(typical, "user long, amount double").toPandas()

# %%
Path(sys.argv[1]).write_text(json.dumps(sorted(found.itertuples(index=False, name=None))))
