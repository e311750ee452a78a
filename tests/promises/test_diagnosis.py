"""`diagnose` names the skewed stage of a real event log, and the line to change."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

PROGRAM = """
import json, os, sys, time
os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark import TaskContext
from pyspark.sql import SparkSession, functions as F

settings = {
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": "file://" + sys.argv[1],
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}
builder = SparkSession.builder.master("local[4]").appName("orders")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
orders = spark.range(0, 2000, 1, 2).select(
    F.expr("if(id % 10 < 8, 0, 1 + id % 50)").alias("customer")
)

# Python processes start here, so that their start is not part of what the stage takes.
spark.range(0, 4, 1, 4).mapInPandas(lambda pieces: pieces, "id long").count()

def work(rows):
    time.sleep(len(rows) * 0.004)
    task = TaskContext.get().partitionId()
    return pd.DataFrame({"n": [len(rows)], "task": [task]})

found = orders.groupBy("customer").applyInPandas(work, "n long, task int").collect()
print(json.dumps([[row.task, row.n] for row in found]))
spark.stop()
"""


@pytest.mark.usefixtures("spark")  # which finds the Java for programs of tests
def test_diagnose_names_the_skewed_stage_and_the_line(tmp_path):
    logs, job = tmp_path / "logs", tmp_path / "job.py"
    logs.mkdir()
    job.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, str(job), str(logs)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    rows: Counter[int] = Counter()
    for task, count in json.loads(ran.stdout):
        rows[task] += count
    assert sum(rows.values()) == 2000
    largest = max(rows.values())

    command = [sys.executable, "-m", "evenkey", "diagnose", str(logs)]
    said = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    figures = json.loads(said.stdout)
    assert figures["named"] == 1
    (application,) = figures["applications"]
    assert application["name"] == "orders"
    (finding,) = application["findings"]
    line = PROGRAM.splitlines().index(
        'found = orders.groupBy("customer").applyInPandas(work, "n long, task int").collect()'
    )
    assert finding["operator"].startswith("FlatMapGroupsInPandas")
    assert finding["keys"] == ["customer"]
    assert finding["call_site"] == f"collect at {job}:{line + 1}"
    tasks = sorted(each["rows"] for each in finding["tasks_of_worst_run"])
    assert tasks[-len(rows) :] == sorted(rows.values())
    assert finding["max_over_mean"]["rows"] == pytest.approx(largest * 4 / 2000, abs=0.01)
    assert any('eks.groupBy(df, "customer"' in each["code"] for each in finding["changes"])
