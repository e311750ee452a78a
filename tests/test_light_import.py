"""Operators need few packages; all others are imported only where they are used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

NEEDED = ("numpy", "pyarrow", "pyspark")
ROOT = Path(__file__).parents[1]

# Only the standard library, these packages, their dependencies and evenkey can be imported.
ALLOWED = {*NEEDED, "evenkey", "py4j", "cython_runtime", "cloudpickle"}
FORBIDDING = f"""
import sys

class Forbidding:
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        known = package in sys.stdlib_module_names or package in {ALLOWED}
        if not known and not name.startswith("_"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Forbidding())
"""

BY_KEY = """
import sys
from pyspark.sql import functions as F
from evenkey import Sum
from evenkey.joins import balanced_join
from evenkey.spark import aggregate, groupBy, join, place, route, session

spark = session("local[2]", {"spark.sql.shuffle.partitions": "2"})
rows = spark.range(0, 5000, 1, 2).select(
    F.when(F.col("id") % 3 == 0, "hot").otherwise(F.col("id").cast("string")).alias("key"),
    F.col("id").alias("amount"),
)
own = rows.groupBy("key").agg(F.sum("amount"))
found = aggregate(rows, "key", "kg", 4, Sum("amount"), state=sys.argv[1] + "/aggregate")
assert sorted(map(tuple, found.collect())) == sorted(map(tuple, own.collect()))
found = groupBy(rows, "key", workers=4).agg(F.sum("amount"))
assert sorted(map(tuple, found.collect())) == sorted(map(tuple, own.collect()))
routed = route(rows, "key", "planned", 4, state=sys.argv[1] + "/route")
assert place(routed, 4).count() == 5000
static = spark.createDataFrame([("hot", 1), ("1", 2)], "key string, place int")
own = rows.join(static, "key")
moving = balanced_join(rows, static, "key", workers=2, state=sys.argv[1] + "/join")
for found in (moving, join(rows, static, "key", workers=4)):
    assert sorted(map(tuple, found.collect())) == sorted(map(tuple, own.collect()))
print("done")
"""


def run(python: Path | str, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("evenkey", "Count, Mean, Sum, advise, diagnose, fold, generated, simulate"),
        ("evenkey.spark", "*"),
        ("evenkey.joins", "*"),
        ("evenkey.groupings", "*"),
    ],
)
def test_a_public_module_needs_few_packages(module, names):
    done = run(sys.executable, FORBIDDING + f"from {module} import {names}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            "from evenkey.joins import SpatialMatch; SpatialMatch()",
            (
                "a spatial join needs the package shapely, which is not installed: "
                "pip install 'evenkey[geo]'"
            ),
        ),
        (
            "from evenkey import run",
            (
                "a run of a pipeline or an application needs the package pydantic, which is not "
                "installed: "
                "pip install 'evenkey[cli]'"
            ),
        ),
        (
            "import evenkey.applications",
            (
                "a run of a pipeline or an application needs the package pydantic, which is not "
                "installed: "
                "pip install 'evenkey[cli]'"
            ),
        ),
        (
            "from evenkey.core.hashing import murmur3_strings; murmur3_strings(['key'])",
            (
                "MurmurHash3 needs the package mmh3, which is not installed: "
                "pip install 'evenkey[cli]'"
            ),
        ),
    ],
)
def test_a_missing_package_is_one_line_with_its_extra(program, says):
    done = run(sys.executable, FORBIDDING + program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"evenkey.core.errors.ConfigurationError: {says}"


def test_the_program_says_what_it_lacks():
    done = run(sys.executable, FORBIDDING + "from evenkey.__main__ import main; main()")
    assert done.returncode == 2
    assert done.stderr == (
        "error: the program evenkey needs the package typer, which is not installed: "
        "pip install 'evenkey[cli]'\n"
    )


@pytest.mark.soak(110)
def test_an_environment_of_these_and_pandas_groups_routes_and_joins(tmp_path):
    """The packages have the lock's versions; Spark's own ``mapInArrow`` also needs pandas."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile"]
    # Without hashes, since with hashes pip rejects every package that the lock does not list.
    locked = re.findall(r"^\S+==\S+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    lock = tmp_path / "versions.txt"
    lock.write_text("\n".join(locked))
    subprocess.run(
        [*pip, "--constraint", lock, *NEEDED, "pandas", "hatchling", "editables"], check=True
    )
    install = [*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT]
    subprocess.run(install, check=True)
    done = run(python, BY_KEY, tmp_path)
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr[-3000:]
