"""The examples that call a diagnosis by themselves: an action, a DAG of Airflow, and a listener."""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.components import skip_without
from tests.diagnosis.writing import Log, skewed
from tools.components import AIRFLOW

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow(5)
def test_the_action_fails_until_a_stage_is_accepted_and_writes_a_summary(tmp_path):
    action = yaml.safe_load((EXAMPLES / "diagnose-action" / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    python, install, last = action["runs"]["steps"]
    assert install["run"] == 'python -m pip install "$REQUIREMENT"'
    assert install["env"] == {"REQUIREMENT": "${{ inputs.requirement }}"}
    assert python["with"] == {"python-version": "${{ inputs.python-version }}"}
    given = {
        "logs": "logs",
        **{n: i["default"] for n, i in action["inputs"].items() if "default" in i},
    }
    assert (given["last-hours"], given["python-version"]) == ("24", "3.12")
    environment = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in last["env"].items()
    }
    (tmp_path / "logs").mkdir()
    skewed().write(tmp_path / "logs" / "app-1")
    long_ago = skewed(name="unchanged").write(tmp_path / "logs" / "app-0")
    os.utime(long_ago, (time.time() - 25 * 3600,) * 2)
    program = tmp_path / "evenkey"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evenkey "$@"\n')
    program.chmod(0o755)

    def step():
        return subprocess.run(
            ["/bin/bash", "-eo", "pipefail", "-c", last["run"]],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env={
                **os.environ, **environment, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
                "PATH": f"{tmp_path}:{os.environ['PATH']}",
            },
        )  # fmt: skip

    first = step()
    assert first.returncode == 3, first.stderr
    assert "2.5x faster, 4.5 s saved (skewed keys)" in first.stderr
    assert (tmp_path / "summary.md").read_text().startswith("## 1 stage to change")
    assert json.loads((tmp_path / "diagnosis.json").read_text())["named"] == 1
    again = step()  # the same stage is neither new nor worse
    assert again.returncode == 0, again.stderr
    skewed(seconds_a_row=0.03).write(tmp_path / "logs" / "app-1")
    for _ in range(2):  # the accepted diagnosis stays as it is
        worse = step()
        assert worse.returncode == 3
    (tmp_path / "diagnosis.json.new").replace(tmp_path / "diagnosis.json")
    accepted = step()
    assert accepted.returncode == 0, accepted.stderr
    assert "unchanged" not in (tmp_path / "summary.md").read_text()
    environment["LAST_HOURS"] = ""
    assert step().returncode == 3
    assert "unchanged" in (tmp_path / "summary.md").read_text()
    assert "**Worse since the earlier diagnosis**" in (tmp_path / "summary.md").read_text()


def test_the_action_is_used_where_the_docs_say_that_it_is():
    text = (EXAMPLES / "diagnose-action" / "action.yml").read_text()
    docs = (ROOT / "docs" / "diagnose.md").read_text()
    used = re.findall(r"uses: (\./\S+)", text)
    assert used == re.findall(r"uses: (\./\S+)", docs) == ["./.github/actions/diagnose-action"]
    (block,) = re.findall(r"```yaml\n(.*?)```", docs, re.DOTALL)
    workflow = yaml.safe_load(textwrap.dedent(block))
    steps = workflow["jobs"]["diagnose"]["steps"]
    (given,) = (each["with"] for each in steps if each["uses"] == used[0])
    inputs = yaml.safe_load(text)["inputs"]
    assert set(given) <= set(inputs)
    assert {name for name, each in inputs.items() if each.get("required")} <= set(given)
    kept = {each["with"]["path"] for each in steps if "cache" in each["uses"]}
    assert kept == {inputs["diagnosis"]["default"]}


DAG = """
import importlib.util
import os
import sys
import time
from pathlib import Path

from airflow.exceptions import AirflowFailException

spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
folder = Path(sys.argv[2])
example.LOGS = str(folder / "logs")
example.ACCEPTED, example.NEWEST = folder / "accepted.json", folder / "newest.json"
(task,) = example.diagnose_spark_jobs().tasks


def fails():
    try:
        task.python_callable()
    except AirflowFailException as error:
        print(error)
        return True
    return False


assert fails()
assert not fails()  # nothing is new
(folder / "worse").replace(folder / "logs" / "app-1")
assert fails()
assert fails()  # the accepted diagnosis stays as it is
example.NEWEST.replace(example.ACCEPTED)
assert not fails()
os.utime(folder / "logs" / "app-1", (time.time() - 23 * 3600,) * 2)
example.ACCEPTED.unlink()
assert fails()
example.LAST_HOURS = 22
try:
    task.python_callable()
except ValueError as error:
    assert "last_hours = 22" in str(error)
else:
    raise AssertionError("older logs were read")
"""


@pytest.mark.soak(30)
def test_the_dag_of_airflow(tmp_path):
    if not (AIRFLOW / ".ready").exists():
        skip_without("airflow", "python -m tools.components airflow installs Airflow")
    (tmp_path / "logs").mkdir()
    skewed().write(tmp_path / "logs" / "app-1")
    skewed(seconds_a_row=0.03).write(tmp_path / "worse")
    done = subprocess.run(
        [AIRFLOW / "bin" / "python", "-c", DAG, EXAMPLES / "airflow_diagnosis.py", tmp_path],
        capture_output=True, text=True, check=False, env={**os.environ, "AIRFLOW_HOME": tmp_path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"orders: stage 0: .* 2\.5x faster", done.stdout)


class Webhook(http.server.ThreadingHTTPServer):
    """A server that keeps what is posted."""

    posted: list[Any]


class Hooks(http.server.BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.server.posted.append(json.loads(self.rfile.read(length)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """Keep quiet."""


@pytest.fixture
def hooks():
    server = Webhook(("127.0.0.1", 0), Hooks)
    server.posted = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def balanced():
    log = Log()
    log.stage(0, [250] * 4, [1.0] * 4)
    return log


@pytest.mark.slow(5)
@pytest.mark.classic("a listener of a Connect client runs in the server")
@pytest.mark.parametrize(
    ("log", "posts"), [(skewed, 1), pytest.param(balanced, 0, marks=pytest.mark.soak(5))]
)
def test_the_listener_posts_when_a_query_ends(spark, tmp_path, hooks, log, posts):
    example = loaded("webhook_listener")
    own, application = log(), spark.sparkContext.applicationId
    for event in own.events:
        if event["Event"] == "SparkListenerApplicationStart":
            event["App ID"] = application
    (tmp_path / "logs").mkdir()
    own.write(tmp_path / "logs" / "own")
    skewed(name="another").write(tmp_path / "logs" / "another")
    listener = example.DiagnosisListener(
        f"http://127.0.0.1:{hooks.server_port}/hooks", str(tmp_path / "logs"), application
    )
    ended = threading.Event()
    own_method = listener.onQueryTerminated

    def after(event):
        own_method(event)
        ended.set()

    listener.onQueryTerminated = after
    spark.streams.addListener(listener)
    try:
        stream = spark.readStream.format("rate").load()
        query = stream.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        assert ended.wait(240)
    finally:
        spark.streams.removeListener(listener)
    assert len(hooks.posted) == posts
    for each in hooks.posted:
        assert each["text"].startswith("## 1 stage to change")
        assert "eks.groupBy(df" in each["text"]
