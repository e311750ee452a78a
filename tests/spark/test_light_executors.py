"""Operators work where executors have no evenkey, or another one, in batches and streams."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pyspark
import pytest

import evenkey
from tests.connect_server import ConnectServer
from tests.executor_environment import NOT_ON_EXECUTORS, make_environment
from tests.spark import light_executors

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

MASTER = "local-cluster[2,1,1024]"
SERVER = {"spark.python.daemon.module": "pyspark.daemon", "spark.sql.shuffle.partitions": "5"}
OLDER = '__version__ = "0.0.9"\n'


def run(master, directory, phase, python=None, **settings):
    words, environment = light_executors.command(master, directory, phase)
    environment["SETTINGS"] = json.dumps(settings)
    if python is not None:
        environment["PYSPARK_PYTHON"] = str(python)
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, check=False, timeout=1000
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-6000:])
    return json.loads(done.stdout.splitlines()[-1])


def equal_to_sparks(found, python, installed):
    assert found["executors"] == [[str(python), installed]]
    assert found["differing"] == dict.fromkeys(found["differing"], 0)


def server(python, monkeypatch, settings=SERVER):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    return ConnectServer(settings)


def test_a_cluster_whose_executors_lack_evenkey_gives_what_spark_gives(tmp_path):
    """Then streams go on in another program, on executors that have another version."""
    python = make_environment(tmp_path / "environment")
    equal_to_sparks(run(MASTER, tmp_path, "first", python), python, "")
    (packages,) = (tmp_path / "environment").glob("lib/*/site-packages")
    installed = packages / "evenkey" / "__init__.py"
    installed.parent.mkdir()
    installed.write_text(OLDER)
    equal_to_sparks(run(MASTER, tmp_path, "changed", python), python, str(installed))


def test_a_connect_server_without_evenkey_gives_what_spark_gives(tmp_path, monkeypatch):
    python = make_environment(tmp_path / "environment")
    with server(python, monkeypatch, {**SERVER, "spark.master": MASTER}) as running:
        for phase in ("first", "second"):
            equal_to_sparks(run(running.url, tmp_path, phase), python, "")


def test_an_archive_brings_the_compiler_to_executors(tmp_path):
    """The archive has the layout of `make environment` (docs/platforms.md)."""
    names = ("numba", "llvmlite")
    python = make_environment(tmp_path / "environment")
    installed, archive = Path(sysconfig.get_path("purelib")), tmp_path / "kernels.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as opened:
        for name in names:
            opened.add(installed / name, name)
        opened.add(Path(evenkey.__file__).parent, "evenkey")
    settings = {"spark.archives": f"{archive}#kernels", "spark.executorEnv.PYTHONPATH": "kernels"}
    found = run(MASTER, tmp_path, "compiled", python, **settings)
    for package in ("executors", "numba"):
        places = {origin for _, origin in found[package]}
        assert all("/kernels/" in origin for origin in places), places
    assert len(found["pkg"]) == 2
    assert sum(found["pkg"]) == sum(found["dchoices"]) == 2000
    assert len(found["dchoices"]) > 1


PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(evenkey.__file__).parents[1])!r})
from pyspark.sql import SparkSession
import evenkey
from evenkey import spark as eks
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
rows = spark.range(100).selectExpr("cast(id % 5 as string) key", "id")
print(eks.aggregate(rows, "key", "planned", 2, evenkey.Sum("id")).count())
"""


def failure(python, monkeypatch):
    """Run a program on a server whose executors have some Python; return its error's text."""
    with server(python, monkeypatch) as running:
        words = [sys.executable, "-c", PROGRAM, running.url]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stdout
    return done.stderr


def test_executors_without_pandas_are_named_in_one_line(tmp_path, monkeypatch):
    python = make_environment(tmp_path / "environment", (*NOT_ON_EXECUTORS, "pandas"))
    text = failure(python, monkeypatch)
    found = re.search(r"^.*ImportError: (.*)$", text, re.MULTILINE)
    assert found is not None, text[-4000:]
    assert found[1].startswith(f"the workers' Python ({python} on ")
    assert "has no package pandas: install pandas>=2.2 there" in found[1]


def test_spark_itself_refuses_executors_with_another_minor_version(monkeypatch):
    others = sorted(Path(sys.base_prefix).parent.glob("3.1[2-9]*/bin/python3"))
    others = [each for each in others if str(sys.version_info.minor) not in each.parts[-3]]
    if not others:
        pytest.skip("there is no other Python beside this one")
    # The other Python has no packages, and gets Spark's from its zip.
    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    text = failure(others[0], monkeypatch)
    assert "PYTHON_VERSION_MISMATCH" in text
    assert re.search(r"Python in worker has different version: 3\.\d+ than that in driver", text)
