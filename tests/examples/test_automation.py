"""The examples that call a diagnosis by themselves: an action, a DAG of Airflow, and a listener."""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.diagnosis.writing import Log, skewed

EXAMPLES = Path(__file__).parents[2] / "examples"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow(5)
def test_the_action_fails_once_and_writes_a_summary(tmp_path):
    action = yaml.safe_load((EXAMPLES / "diagnose-action" / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    last = action["runs"]["steps"][-1]
    given = {
        "logs": "logs",
        **{n: i["default"] for n, i in action["inputs"].items() if "default" in i},
    }
    environment = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in last["env"].items()
    }
    (tmp_path / "logs").mkdir()
    skewed().write(tmp_path / "logs" / "app-1")
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
    worse = step()
    assert worse.returncode == 3
    assert "**Worse since the earlier diagnosis**" in (tmp_path / "summary.md").read_text()


def test_the_dag_of_airflow(tmp_path):
    pytest.importorskip("airflow.sdk", reason="Airflow is not installed")
    failed = pytest.importorskip("airflow.sdk.exceptions").AirflowFailException
    example = loaded("airflow_diagnosis")
    example.EARLIER = tmp_path / "earlier.json"
    example.LOGS = str(skewed().write(tmp_path / "log"))
    dag = example.diagnose_spark_jobs()
    (task,) = dag.tasks
    with pytest.raises(failed, match=r"orders: stage 0: .* 2\.5x faster"):
        task.python_callable()
    task.python_callable()  # nothing is new


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
    ("log", "posts"), [(skewed(), 1), pytest.param(balanced(), 0, marks=pytest.mark.soak(5))]
)
def test_the_listener_posts_when_a_query_ends(spark, tmp_path, hooks, log, posts):
    example = loaded("webhook_listener")
    log.write(tmp_path / "log")
    listener = example.DiagnosisListener(
        f"http://127.0.0.1:{hooks.server_port}/hooks", str(tmp_path / "log")
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
