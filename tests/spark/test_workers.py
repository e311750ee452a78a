"""The Python of workers: by default the program's own; one error line if it lacks packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from pyspark import cloudpickle

from evenkey.core.errors import ConfigurationError
from evenkey.spark.sessions import open_task
from evenkey.spark.sessions import worker_python as workers
from evenkey.spark.sessions.own_package import own_package

PROGRAM = """
from pyspark.sql import SparkSession
from evenkey.spark import route
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.range(100).selectExpr("cast(id % 5 as string) key")
print(route(rows, "key", "pkg", workers=2).groupBy("worker").count().count(), "workers")
"""


@pytest.fixture
def bare_python(tmp_path):
    """Make a Python of the same version without installed packages."""
    launcher = tmp_path / "bare" / "python3"
    launcher.parent.mkdir()
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    launcher.chmod(0o755)
    return launcher


def run_program(environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow(3)
@pytest.mark.classic("a Connect server's workers have a Python of the server's choice")
def test_a_program_runs_whose_environment_is_not_activated(bare_python):
    # Spark's default would be the first python3 of the PATH.
    path = os.pathsep.join([str(bare_python.parent), os.environ["PATH"]])
    done = run_program({"PATH": path})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 workers\n"


@pytest.mark.slow(9)
@pytest.mark.classic("a Connect server's workers have a Python of the server's choice")
def test_a_chosen_python_without_packages_is_one_line(bare_python):
    done = run_program({"PYSPARK_PYTHON": str(bare_python)})
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"ConfigurationError: PYSPARK_PYTHON = '{bare_python}'" in last
    assert "cannot run Spark's Python functions (ModuleNotFoundError" in last
    assert f"unset it, or set it to {sys.executable}" in last
    assert "PythonException" not in done.stderr


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("echo '[3, 1]'", "is 3.1, and this program's is"),
        ("exit 3", "cannot run Spark's Python functions (it printed nothing)"),
    ],
)
def test_a_chosen_python_is_asked_for_version_and_packages(tmp_path, answer, said):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{answer}\n")
    python.chmod(0o755)
    lacking = workers._lacking(str(python))
    assert lacking is not None
    assert said in lacking


@pytest.mark.classic("a Connect server's workers have a Python of the server's choice")
def test_a_chosen_python_that_is_not_there_is_said_not_to_run(spark, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "/missing/python")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/missing/python")
    workers._seen.discard(spark.sparkContext)
    with pytest.raises(ConfigurationError, match="does not run"):
        workers.in_workers(spark, str.upper)


def test_a_worker_on_another_host_without_packages_names_itself_and_the_fix(bare_python, tmp_path):
    # A worker's first steps, with Spark's own packages only.
    task = tmp_path / "task"
    task.write_bytes(cloudpickle.dumps(workers._Task(workers.in_workers)))
    libraries = sorted(map(str, (Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip")))
    script = f"import sys; sys.path += {libraries}\nfrom pyspark import cloudpickle\n"
    script += f"cloudpickle.loads(open({str(task)!r}, 'rb').read())"
    done = subprocess.run([bare_python, "-c", script], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: the workers' Python (")
    assert "has no package numpy: install numpy>=2 there, or name another interpreter" in last


def test_a_task_is_what_it_was_in_a_worker_that_has_evenkey():
    task = cloudpickle.loads(cloudpickle.dumps(workers._Task(str.upper)))
    assert task is str.upper


def test_a_subquerys_task_reports_what_is_missing_as_words():
    """Spark would hide the error of a scalar subquery, so a condition on the rows raises it."""
    missing = b"cno_such_module\nanything\n."
    batch = pa.record_batch({"id": [0]})
    package = own_package()
    (reported,) = open_task.open_giving_problems(missing, package)([batch])
    first, *codes = reported["words"].to_pylist()[0]
    assert first == -1
    assert "has no module 'no_such_module': install it there" in "".join(map(chr, codes))
    assert open_task.open_giving_problems(cloudpickle.dumps(str.upper), package) is str.upper
    assert open_task.problem_words("Zürich\x00") == [-1, *"Zürich ".encode("latin-1")]
