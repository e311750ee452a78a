"""What a running application answers over REST, and what does not answer."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evenkey.diagnosis import diagnose
from evenkey.errors import ConfigurationError
from tests.diagnosis.writing import skewed

PLAN = """== Physical Plan ==
AdaptiveSparkPlan (9)
+- == Final Plan ==
   FlatMapGroupsInPandas (5)
   +- * Sort (4)
      +- AQEShuffleRead (3), coalesced
         +- ShuffleQueryStage (2), Statistics(sizeInBytes=7.3 KiB, rowCount=1.00E+3)
            +- Exchange (1)
               +- * Range (0)
+- == Initial Plan ==
   FlatMapGroupsInPandas (8)
   +- Exchange (7)


(1) Exchange
Input [1]: [customer#1L]
Arguments: hashpartitioning(customer#1L, 8), ENSURE_REQUIREMENTS, [plan_id=4]

(3) AQEShuffleRead
Input [1]: [customer#1L]
Arguments: coalesced
"""
ROWS, SECONDS = [100, 700, 100, 100], [1.5, 7.5, 1.5, 1.5]
APP = "/applications/app-1"


def task(index, rows, seconds):
    read = {"recordsRead": rows, "remoteBytesRead": 4 * rows, "localBytesRead": 6 * rows}
    return {
        "taskId": index, "index": index, "status": "SUCCESS", "duration": round(1000 * seconds),
        "taskMetrics": {"shuffleReadMetrics": read},
    }  # fmt: skip


def stage(number, rows):
    return {"stageId": number, "attemptId": 0, "name": "collect", "shuffleReadRecords": rows}


def node(number, records):
    metrics = [{"name": "records read", "value": records}, {"name": "data size", "value": "1 KiB"}]
    return {"nodeId": number, "nodeName": "Exchange", "metrics": metrics}


def answers():
    execution = {
        "id": 0, "description": "collect at /srv/orders.py:17", "planDescription": PLAN,
        "successJobIds": [0], "runningJobIds": [], "nodes": [node(3, "1,000")],
    }  # fmt: skip
    listed = {
        "id": "app-1", "name": "orders",
        "attempts": [{"appSparkVersion": "4.3.0", "duration": 60_000, "completed": False}],
    }  # fmt: skip
    executor = {"id": "1", "isActive": True, "totalCores": 4}
    return {
        "/applications": [listed],
        APP: listed,
        f"{APP}/environment": {"sparkProperties": [["spark.task.cpus", "1"]]},
        f"{APP}/allexecutors": [executor, {**executor, "isActive": False}],
        f"{APP}/jobs": [{"jobId": 0, "stageIds": [0, 1]}],
        f"{APP}/sql": [execution],
        f"{APP}/stages": [stage(0, 0), stage(1, 1000)],
        f"{APP}/stages/1/0/taskList": [
            task(*each) for each in zip(range(4), ROWS, SECONDS, strict=True)
        ],
    }


@pytest.fixture
def served():
    """Serves answers by path; what there is none for is not found."""
    known: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path, _, query = self.path.removeprefix("/api/v1").partition("?")
            found = known.get(path)
            if isinstance(found, list) and "offset=" in query and "offset=0" not in query:
                found = []
            self.send_response(404 if found is None else 200)
            self.end_headers()
            self.wfile.write(found if isinstance(found, bytes) else json.dumps(found).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", known
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_application_that_runs(served):
    address, known = served
    known.update(answers())
    for source in (address, f"{address}/", f"{address}/api/v1", f"{address}/jobs/job/?id=3"):
        (one,) = diagnose(source).applications
        (found,) = one.named
        assert found.run.rows == tuple(ROWS)
        assert found.fullness["rows"] == 2.8
        assert found.changes[0].gain == pytest.approx(2.5)
        assert found.adaptive == ("coalesced",)
        assert found.run.execution.call_site == "collect at /srv/orders.py:17"
        assert one.application.slots == 4
        assert one.cautions[0].startswith("Read over REST: a join's sides are not told apart")


def test_a_stage_that_fits_no_shuffle_or_two_is_left_out(served):
    address, known = served
    known.update(answers())
    known[f"{APP}/sql"][0]["nodes"] = [node(3, "999")]
    (one,) = diagnose(address).applications
    assert one.findings == ()


def test_a_history_server_hands_out_the_log(served):
    address, known = served
    known["/applications"] = [{"id": "app-orders", "name": "orders", "attempts": [{}]}]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        files.writestr("app-orders", skewed().text())
    known["/applications/app-orders/logs"] = packed.getvalue()
    known["/applications/app-orders"] = known["/applications"][0]
    for source in (address, f"{address}/history/app-orders/jobs/"):
        (one,) = diagnose(source).applications
        assert one.application.source == "log"
        assert (len(one.named), one.cautions) == (1, ())
    with pytest.raises(ConfigurationError, match="application = 'app-7'"):
        diagnose(f"{address}/history/app-7/jobs/")


def test_what_does_not_answer_as_spark_is_refused_in_one_line(served):
    address, known = served
    with pytest.raises(ConfigurationError, match=r"no Spark answers there .HTTP 404.; give the"):
        diagnose(address)
    known["/applications"] = b"<html>"
    with pytest.raises(ConfigurationError, match="it answers no JSON"):
        diagnose(address)
    known["/applications"] = {"error": "no"}
    with pytest.raises(ConfigurationError, match="it lists no applications"):
        diagnose(address)
    known["/applications"] = []
    with pytest.raises(ConfigurationError, match="it has no application; wait for one"):
        diagnose(address)
    with pytest.raises(ConfigurationError, match=r"application = 'app-7': .* none of this id"):
        diagnose(address, application="app-7")
    known["/applications"] = [{"id": "app-1", "name": "orders", "attempts": [{}]}]
    with pytest.raises(ConfigurationError, match=r"cannot be read .*; name the application's"):
        diagnose(address)
