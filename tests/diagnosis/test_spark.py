"""Logs and servers of a real Spark, compared with known rows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pyspark
import pytest

from evenkey.reports.diagnosis import diagnose

pytestmark = pytest.mark.soak

SLOTS = 2
PROGRAM = """
import json, os, sys, time
from collections import Counter
os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark.sql import SparkSession, functions as F
from evenkey.reports.diagnosis import diagnose

logs, codec = sys.argv[1:]
settings = {
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{logs}",
    "spark.eventLog.compression.codec": codec, "spark.eventLog.compress": "true",
    "spark.eventLog.rolling.enabled": str(codec == "zstd").lower(),
    "spark.eventLog.rolling.maxFileSize": "10m",
    "spark.ui.enabled": "true", "spark.ui.port": "0", "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4", "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}
builder = SparkSession.builder.master("local[2]").appName("known")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
rows = spark.range(0, 3000, 1, 2).select(
    F.expr("CASE WHEN id % 10 < 6 THEN 0 ELSE 1 + id % 50 END").alias("customer")
)

def work(frame):
    time.sleep(len(frame) * 0.0005)
    return pd.DataFrame({"customer": frame["customer"][:1], "n": [len(frame)]})

rows.groupBy("customer").applyInPandas(work, "customer long, n long").collect()
right = spark.range(100).select(F.col("id").alias("customer"), F.lit(1).alias("one"))
rows.join(right, "customer").write.format("noop").mode("overwrite").save()
placed = rows.repartition(4, "customer").withColumn("at", F.spark_partition_id())
held = sorted(Counter(row.at for row in placed.collect()).values())
time.sleep(2)  # the page's figures are behind the tasks
live = diagnose(spark.sparkContext.uiWebUrl).to_json()
print(json.dumps({"held": held, "live": live}))
spark.stop()
"""


def ran(tmp_path, codec):
    logs = tmp_path / "logs"
    logs.mkdir()
    environment = {**os.environ, "PYTHONPATH": "src"}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(logs), codec],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    return logs, json.loads(ended.stdout.splitlines()[-1])


def finding(figures, operator):
    (one,) = figures["applications"]
    (found,) = (each for each in one["findings"] if each["operator"].startswith(operator))
    return found


def rows_of(found):
    return sorted(each["rows"] for each in found["tasks_of_worst_run"] if each["rows"])


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_a_log_and_the_page_of_a_known_job(tmp_path, codec):
    logs, said = ran(tmp_path, codec)
    figures = diagnose(logs).to_json()
    (one,) = figures["applications"]
    assert (one["cautions"], one["slots"], one["name"]) == ([], SLOTS, "known")
    for source in (figures, said["live"]):
        applied = finding(source, "FlatMapGroupsInPandas")
        assert rows_of(applied) == said["held"]
        assert applied["keys"] == ["customer"]
        assert applied["call_site"].startswith("collect at ")
    joined = finding(figures, "SortMergeJoin")
    assert sum(rows_of(joined)) == 3000 + 100
    assert joined["join_type"] == finding(said["live"], "SortMergeJoin")["join_type"] == "Inner"
    assert said["live"]["applications"][0]["source"] == "rest"


def test_a_history_server_gives_the_same_as_the_log(tmp_path):
    logs, _ = ran(tmp_path, "zstd")
    home = Path(pyspark.__file__).parent
    options = f"-Dspark.history.fs.logDirectory=file://{logs} -Dspark.history.ui.port=0"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_HISTORY_OPTS": options}
    command = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = None
            for line in server.stderr:
                found = re.search(r"started at http://\S+:(\d+)", line)
                if found:
                    break
            assert found is not None
            address = f"http://127.0.0.1:{found[1]}"
            until = time.monotonic() + 240
            while time.monotonic() < until:
                listing = f"{address}/api/v1/applications"
                with urllib.request.urlopen(listing) as answer:  # noqa: S310 - our own server
                    if json.load(answer):
                        break
                time.sleep(1)
            served, read = diagnose(address).to_json(), diagnose(logs).to_json()
            assert served["applications"] == read["applications"]
            page = f"{address}/history/{served['applications'][0]['id']}/jobs/"
            assert diagnose(page).to_json()["applications"] == read["applications"]
        finally:
            server.send_signal(signal.SIGTERM)
