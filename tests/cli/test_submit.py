"""``evenkey submit``: a program runs unchanged, is recorded, and then follows its profile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import most_in_soak

ROOT = Path(__file__).parents[2]
PLAIN = """
import sys
from pathlib import Path
import beside
if __name__ == "__main__":
    print(sys.argv, beside.NAME, Path(__file__).name)
    if sys.argv[-1] == "exit":
        sys.exit(7)
    if sys.argv[-1] == "fail":
        beside.fail()
"""
BESIDE = """
NAME = "a module beside the program"
def fail():
    raise LookupError("no such order")
"""
ON_SPARK = """
import os
import sys
import tempfile
from pyspark.sql import SparkSession

os.chdir(tempfile.gettempdir())
assert not any(each.endswith("submission") for each in sys.path)
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "4")
assert SparkSession.builder.getOrCreate() is spark
clicks = spark.range(1000).selectExpr("if(id % 10 < 6, id % 3, id % 100) as user", "id")

def newest(rows):
    return rows.nlargest(1, "id")

found = clicks.groupBy("user").applyInPandas(newest, clicks.schema)
print(sorted(tuple(row) for row in found.collect()))
spark.stop()
"""


def run(*command, cwd=None):
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )


def submit(*arguments, cwd=None):
    return run("-m", "evenkey", "submit", *arguments, cwd=cwd)


@pytest.fixture
def program(tmp_path):
    (tmp_path / "beside.py").write_text(BESIDE)
    file = tmp_path / "program.py"
    file.write_text(PLAIN)
    return file


@pytest.mark.slow(3)
@pytest.mark.parametrize(
    ("last", "code"),
    most_in_soak([("--day=3", 0), ("exit", 7), ("fail", 1)], 3, slow=[("fail", 1)]),
)
def test_a_program_has_its_arguments_and_its_exit_code(program, last, code):
    said = submit(program, "--", "-v", "--debug", last)
    assert said.returncode == code, said.stderr
    arguments = [str(program), "-v", "--debug", last]
    assert said.stdout == f"{arguments} a module beside the program program.py\n"
    assert "evenkey: the program started no Spark session" in said.stderr
    trace = [line for line in said.stderr.splitlines() if line.startswith(("  File", "Lookup"))]
    if last == "fail":
        assert trace[0].startswith(f'  File "{program}", line 10')
        assert trace[-1] == "LookupError: no such order"
    else:
        assert trace == []
    assert not program.with_suffix(".profile.json").exists()


def test_the_path_of_the_launcher_is_printed(invoke):
    launcher = Path(invoke("submit", "--launcher").stdout.strip())
    assert launcher.is_relative_to(ROOT)
    assert "submit" in launcher.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py"], "JOB = 'missing.py': there is no such file"),
        ([], "Missing argument 'JOB'"),
        (["{program}", "--profile", "{program}"], "is no profile, because it is not JSON"),
        (["{program}", "--profile", "no/such/p.json"], "the profile cannot be written"),
        (["{program}", "--least-gain", "much"], "it must be a number"),
    ],
)
def test_wrong_commands(invoke, program, arguments, message):
    said = invoke("submit", *(each.format(program=program) for each in arguments))
    assert said.exit_code == 2
    assert message in said.stderr.replace("must be a valid", "must be a"), said.stderr
    assert said.stdout == ""


@pytest.fixture
def job(tmp_path):
    file = tmp_path / "job.py"
    file.write_text(ON_SPARK)
    return file


@pytest.mark.slow(40)
def test_a_job_is_recorded_and_then_follows_its_profile(job):
    """The second run is that of the launcher, which `spark-submit` starts."""
    first = submit(job.name, cwd=job.parent)
    assert first.returncode == 0, first.stderr
    profile = job.with_suffix(".profile.json")
    assert f"evenkey: recorded {profile}" in first.stderr
    (operation,) = json.loads(profile.read_text())["operations"].values()
    assert operation["operator"] == "applyInPandas(newest)"
    second = run(submit("--launcher").stdout.strip(), "--least-gain", "0", job)
    assert second.returncode == 0, second.stderr
    assert second.stdout == first.stdout
    # The job has stopped its session; its tasks were read before.
    assert "evenkey: applyInPandas(newest) by user: 1 call rerouted" in second.stderr
    assert "measured" in second.stderr
    assert "not measured" not in second.stderr


@pytest.mark.soak(15)
def test_a_lost_recording_does_not_change_the_exit_code(job, tmp_path):
    place = tmp_path / "profiles"
    place.mkdir()
    end = f"\nimport shutil, sys\nshutil.rmtree({str(place)!r})\nsys.exit(7)\n"
    job.write_text(job.read_text() + end)
    said = submit("--profile", place / "p.json", job)
    assert said.returncode == 7, said.stderr
    assert "evenkey: not recorded: " in said.stderr
    assert "the profile cannot be written" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.soak(40)
def test_a_job_can_be_recorded_again(job):
    first, second = submit(job), submit("--record", job)
    assert second.stdout == first.stdout, second.stderr
    profile = job.with_suffix(".profile.json")
    assert f"evenkey: recorded {profile}" in second.stderr
    (again,) = json.loads(profile.read_text())["operations"].values()
    assert again["runs"] == pytest.approx(2, abs=0.01)
