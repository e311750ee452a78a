"""Operators need no compiler: numba, llvmlite and xxhash cannot be imported, on any process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MISSING = " needs the package numba, which is not installed: pip install 'evenkey[kernels]'"
STREAM = "a generated stream, or a CSV file with quoted fields,"

# Python imports `sitecustomize` as it starts, so Spark's Python workers are blocked too.
BLOCKING = """
import sys

class Blocking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "xxhash"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocking())
"""

OPERATORS = """
import importlib
import sys

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F

import evenkey
from evenkey import spark as eks


def blocked(batches):
    for package in ("numba", "xxhash"):
        try:
            importlib.import_module(package)
        except ModuleNotFoundError:
            continue
        raise AssertionError(package)
    yield from batches


def same(ours, rows):
    assert sorted(map(tuple, ours.collect())) == sorted(map(tuple, rows))


def total(key, pdf):
    return pd.DataFrame([(key[0], len(pdf), pdf["id"].sum())])


def added(pdf):
    return pd.DataFrame([(pdf["key"].iloc[0], pdf["rows"].sum(), pdf["ids"].sum())])


logs, state = sys.argv[1:]
SETTINGS = {"spark.sql.shuffle.partitions": "4", "spark.sql.autoBroadcastJoinThreshold": "-1"}
spark = eks.session("local[2]", SETTINGS)
assert spark.range(9, numPartitions=2).mapInArrow(blocked, "id long").count() == 9
cold = (F.col("id") % 400).cast("string")
rows = spark.range(0, 4000, 1, 2).select(
    F.when(F.col("id") % 5 < 3, "hot").otherwise(cold).alias("key"), "id"
)
schema = "key string, rows long, ids long"
sums = F.count("*").alias("rows"), F.sum("id").alias("ids")
own = rows.groupBy("key").agg(*sums).collect()
grouped = eks.groupBy(rows, "key", workers=4)
same(grouped.applyInPandas(total, schema), own)
same(grouped.applyInPandas(total, schema, merge=added, merge_schema=schema), own)
merge = [F.sum("rows").alias("rows"), F.sum("ids").alias("ids")]
same(grouped.applyInPandas(total, schema, merge=merge), own)
same(grouped.agg(*sums), own)

names = spark.createDataFrame([("hot", 1), ("hot", 2), ("3", 3), ("none", 4)], "key string, n int")
for how in ("inner", "left"):
    same(eks.join(rows, names, "key", how, workers=4), rows.join(names, "key", how).collect())
explained = eks.explain(eks.join, rows, names, "key", workers=4)
assert explained.placements[0].hot_keys, explained

by_id = rows.withColumn("day", F.when(F.col("id") % 5 < 3, 0).otherwise(F.col("id") % 7))
same(eks.partition_for_write(by_id, "day", files=4), by_id.collect())

assert eks.fit(rows, "key", "planned", workers=4, state=state).loads.max() < 1010
for place in (None, state):
    routed = eks.route(rows, "key", "planned", workers=4, state=place)
    placed = eks.place(routed, 4)
    same(placed.drop("worker"), rows.collect())
    loads = [count for _, count in placed.groupBy("worker").count().collect()]
    assert max(loads) <= 1.05 * 1000, loads

explained = eks.explain(eks.groupBy, rows, "key", workers=4)
assert explained.placements[-1].hot_keys, explained
assert evenkey.diagnose(logs).applications[0].named
try:
    eks.route(rows, "key", "pkg", workers=4)
except evenkey.ConfigurationError as error:
    print(error)
print("done")
"""


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BLOCKING)
    return {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"}


def run(program, environment, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.soak(25)
def test_operators_have_sparks_results_without_numba(environment, tmp_path):
    logs = ROOT / "tests" / "diagnosis" / "logs" / "apply-skewed.gz"
    code, printed, errors = run(OPERATORS, environment, logs, tmp_path / "state")
    assert code == 0, errors[-3000:]
    assert printed[-2:] == ["grouping pkg" + MISSING, "done"]


@pytest.mark.parametrize(
    ("program", "purpose"),
    [
        ("parse('pkg').router(2).route(keys)", "a grouping that decides message by message"),
        ("parse('dchoices').router(2).route(keys)", "counting hot keys message by message"),
        ("parse('planned').router(2).route(keys)", "spreading keys that are hotter than planned"),
        (
            "ek.simulate(ek.generated('uniform(keys=3)', messages=9), 'kg', workers=2)",
            "a generated stream, or a CSV file with quoted fields,",
        ),
    ],
)
def test_what_needs_numba_names_the_extra_in_one_line(program, purpose, environment):
    setting = (
        "import numpy as np; import evenkey as ek; from evenkey.groupings import parse; "
        "keys = np.arange(3, dtype=np.uint64); "
    )
    code, _, errors = run(setting + program, environment)
    assert code == 1
    assert errors.splitlines()[-1] == f"evenkey.core.errors.ConfigurationError: {purpose}{MISSING}"


@pytest.mark.parametrize("grouping", ["kg", "sg"])
def test_groupings_of_a_formula_need_no_numba(grouping, environment):
    program = (
        "import numpy as np; from evenkey.groupings import parse; "
        f"print(parse({grouping!r}).router(2).route(np.arange(3, dtype=np.uint64)).tolist())"
    )
    assert run(program, environment)[:2] == (0, ["[0, 1, 0]"])
