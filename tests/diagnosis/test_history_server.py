"""Diagnosis over REST: running applications, history servers, and invalid answers."""

from __future__ import annotations

import datetime as dt
import io
import json
import re
import socket
import tempfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.diagnosis import diagnose
from evenkey.reports.diagnosis.reading import limits
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
        "attempts": [{"appSparkVersion": "4.3.0", "startTimeEpoch": 5000, "duration": 60_000}],
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
    """Start a server with an answer for each path; all other paths are not found."""
    known: dict[str, Any] = {}
    asked: list[str] = known.setdefault("asked", [])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path, _, query = self.path.removeprefix("/api/v1").partition("?")
            found = known.get(path)
            asked.append(query)
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
        assert (one.application.slots, one.application.started) == (4, 5.0)
        assert one.cautions[0].startswith("Read over REST: the rows of a join's two sides")


def test_a_stage_that_ran_twice(served):
    address, known = served
    known.update(answers())
    known[f"{APP}/stages"].append({**stage(1, 1000), "attemptId": 1})
    known[f"{APP}/stages/1/1/taskList"] = known[f"{APP}/stages/1/0/taskList"][:1]
    (one,) = diagnose(address).applications
    (found,) = one.named
    assert found.run.rows == tuple(ROWS)


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


def test_a_history_server_with_many_applications(served):
    address, known = served
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        files.writestr("log", skewed().text())
    names = [f"app-{number}" for number in range(23)]
    known["/applications"] = [{"id": each, "name": "orders", "attempts": [{}]} for each in names]
    known.update({f"/applications/{each}/logs": packed.getvalue() for each in names})
    found = diagnose(address)
    assert len(found.applications) == 20
    assert found.cautions[0].startswith("The server lists more: only its newest 20 were read")
    assert "limit=21" in known["asked"]
    known["asked"].clear()
    found = diagnose(address, last_hours=24)
    assert (len(found.applications), found.cautions) == (23, ())
    (query,) = [each for each in known["asked"] if "minEndDate" in each]
    asked = dict(each.split("=") for each in query.split("&"))
    # Spark accepts only this form.
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000GMT", asked["minEndDate"])
    first = dt.datetime.fromisoformat(asked["minEndDate"].replace("GMT", "Z"))
    ago = dt.datetime.now(dt.UTC) - first
    assert dt.timedelta(hours=24) <= ago < dt.timedelta(hours=25)
    known["/applications"] = []
    with pytest.raises(ConfigurationError, match="no Spark application of the last hours; name"):
        diagnose(address, last_hours=24)


def archive_of(log):
    return archive({"log": log.text()})


def test_the_attempt_of_a_page_is_read(served):
    address, known = served
    attempts = [{"attemptId": "2"}, {"attemptId": "1"}]
    known["/applications/app-1"] = {"id": "app-1", "name": "orders", "attempts": attempts}
    for attempt in ("1", "2"):
        log = skewed(name=f"attempt {attempt}")
        known[f"/applications/app-1/{attempt}/logs"] = archive_of(log)

    def read(page):
        (one,) = diagnose(f"{address}/history/{page}").applications
        return one.application.name

    assert read("app-1/1/jobs/") == read("app-1/1") == "attempt 1"
    assert read("app-1/2/jobs/") == read("app-1/jobs/") == read("app-1") == "attempt 2"
    with pytest.raises(ConfigurationError, match="no attempt 3 of it; leave it out of the address"):
        read("app-1/3/jobs/")


def test_one_application_of_a_server_can_be_older_than_the_last_hours(served):
    address, known = served
    now = 1000 * time.time()
    hour = 3_600_000
    for name, ended in {"app-orders": now - 2 * hour, "app-running": -1}.items():
        attempts = [{"endTimeEpoch": ended}]
        known[f"/applications/{name}"] = {"id": name, "name": "orders", "attempts": attempts}
        known[f"/applications/{name}/logs"] = archive_of(skewed(name=name.removeprefix("app-")))

    def read(name, hours):
        return len(diagnose(address, application=name, last_hours=hours).applications)

    assert read("app-orders", 3) == read("app-running", 3) == read("app-running", 1) == 1
    with pytest.raises(ConfigurationError, match=r"ended before the last hours; name more of them"):
        read("app-orders", 1)


def test_hours_before_all_time_are_any_time(served):
    address, known = served
    known["/applications"] = [{"id": "app-orders", "name": "orders", "attempts": [{}]}]
    known["/applications/app-orders/logs"] = archive_of(skewed())
    for hours in (1e8, 1e300):
        assert len(diagnose(address, last_hours=hours).applications) == 1
    assert "minEndDate=1970-01-01T00:00:00.000GMT" in " ".join(known["asked"])


def test_a_server_that_is_not_spark_is_refused_in_one_line(served):
    address, known = served
    with pytest.raises(ConfigurationError, match=r"no Spark answers there .HTTP 404.; give the"):
        diagnose(address)
    known["/applications"] = b"<html>"
    with pytest.raises(ConfigurationError, match="its answer is not JSON"):
        diagnose(address)
    known["/applications"] = {"error": "no"}
    with pytest.raises(ConfigurationError, match="its answer is not a list of Spark applications"):
        diagnose(address)
    known["/applications"] = []
    with pytest.raises(ConfigurationError, match="it lists no Spark application; wait for one"):
        diagnose(address)
    with pytest.raises(
        ConfigurationError, match=r"application = 'app-7': .* no Spark application with this id"
    ):
        diagnose(address, application="app-7")
    known["/applications"] = [{"id": "app-1", "name": "orders", "attempts": [{}]}]
    with pytest.raises(ConfigurationError, match=r"cannot be read .*; pass the path of"):
        diagnose(address)


def archive(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in files.items():
            writer.writestr(name, content)
    return packed.getvalue()


def damaged():
    packed = bytearray(archive({"app-1": skewed().text()}))
    packed[40:60] = b"\xff" * 20
    return bytes(packed)


def encrypted():
    packed = bytearray(archive({"app-1": skewed().text()}))
    packed[6] |= 1
    packed[packed.find(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


LISTS = [
    ([{"name": "x"}], "its answer is not a list of Spark applications"),
    ([1, 2], "its answer is not a list of Spark applications"),
    ([{"id": 5, "attempts": 7}], "its answer is not a list of Spark applications"),
    (b"[" * 100_000 + b"]" * 100_000, "its answer is not JSON"),
    ([{"id": "app-1", "attempts": 7}], "'app-1' cannot be read"),
    ([{"id": "a b\r\nX: y/../..", "attempts": [{}]}], "cannot be read"),
]
ARCHIVES = [
    (damaged(), "cannot be read"),
    (encrypted(), "its logs are encrypted"),
    (archive({"readme": "hello"}), "contains no event log"),
    (archive({"app-1": skewed().text(), "app-1/x": "y"}), "cannot be read"),
    (archive({"x" * 300: skewed().text()}), "cannot be read"),
]


def refusal(address):
    with pytest.raises(ConfigurationError) as caught:
        diagnose(address)
    (line,) = str(caught.value).splitlines()
    assert line.isprintable()
    return line


@pytest.mark.parametrize(("listed", "said"), LISTS)
def test_a_list_that_is_none_is_refused_in_one_line(served, listed, said):
    address, known = served
    known["/applications"] = listed
    assert said in refusal(address)


@pytest.mark.parametrize(("packed", "said"), ARCHIVES)
def test_logs_that_cannot_be_unpacked_are_refused_in_one_line(served, packed, said):
    address, known = served
    known["/applications"] = [{"id": "app-1", "attempts": [{}]}]
    known["/applications/app-1/logs"] = packed
    assert said in refusal(address)


def test_one_application_that_cannot_be_read_does_not_stop_the_others(served):
    address, known = served
    known["/applications"] = [{"id": each, "attempts": [{}]} for each in ("app-1", "app-2")]
    known["/applications/app-1/logs"] = damaged()
    known["/applications/app-2/logs"] = archive({"app-2": skewed().text()})
    found = diagnose(address)
    assert [each.application.name for each in found.applications] == ["orders"]
    (caution,) = found.cautions
    assert "application 'app-1' cannot be read" in caution


def test_names_in_an_archive_do_not_lead_out_of_it(served, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a" / "b"))
    (tmp_path / "a" / "b").mkdir(parents=True)
    address, known = served
    known["/applications"] = [{"id": "app-1", "attempts": [{}]}]
    names = ["../../../slipped", f"{tmp_path}/slipped", f"/{tmp_path}/slipped too", "app-1"]
    known["/applications/app-1/logs"] = archive(dict.fromkeys(names, skewed().text()))
    diagnose(address)
    assert [each for each in tmp_path.rglob("*") if each.name.startswith("slipped")] == []


def test_answers_are_limited_in_size_and_time(served, monkeypatch):
    address, known = served
    known.update(answers())
    for name, value, said in [
        ("ANSWER_BYTES", 1 << 20, None),
        ("PAGES_BYTES", 1000, "its answer is larger than 0 MiB"),
        ("ANSWER_BYTES", 10, "its answer is not JSON"),
        ("ARCHIVE_BYTES", 1000, "its answer is larger than 0 MiB"),
        ("ARCHIVE_FILES", 1, "its archive of logs lists too many files"),
        ("DIRECTORY_BYTES", 100, "its archive of logs lists too many files"),
        ("SERVER_SECONDS", 0.0, "it takes longer than 0 s"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(limits, name, value)
            if name == "ARCHIVE_BYTES":
                known[f"{APP}/logs"] = archive({"app-1": skewed().text() + "\n" * 5000})
            if name in ("ARCHIVE_FILES", "DIRECTORY_BYTES"):
                known[f"{APP}/logs"] = archive({"app-1": skewed().text(), "more": ""})
            if said is None:
                assert diagnose(address).applications
            else:
                assert said in refusal(address)


def answering(answer):
    """Start a server that sends these bytes to every client; return its socket and address."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                asked, _ = listening.accept()
            except OSError:
                return
            with asked:
                asked.recv(65536)
                asked.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    "answer",
    [
        b"\x00\x01garbage\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[{}",
        b"HTTP/1.1 302 Found\r\nLocation: /api/v1/applications\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n[]",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    ],
)
def test_an_invalid_answer_is_refused_in_one_line(answer):
    listening, address = answering(answer)
    with listening:
        assert f"{address}: no Spark answers there (" in refusal(address)


def test_a_redirection_to_another_server_is_followed():
    empty, last = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
    to = f"HTTP/1.1 302 Found\r\nLocation: {last}/api/v1/applications\r\nContent-Length: 0\r\n\r\n"
    listening, address = answering(to.encode())
    with empty, listening:
        said = refusal(address)
        assert "no Spark answers there" not in said
        assert said == refusal(last).replace(last, address)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://[::1", "it is not an address; write http://HOST:PORT"),
        ("http://127.0.0.1:99999", "is not an address"),
        ("http://127.0.0.1:port", "is not an address"),
        ("http://", "is not an address"),
        ("http://127.0.0.1:4040/a b", "is not an address"),
        ("http://127.0.0.1:4040/a\r\nX: y", "is not an address"),
        ("http://me:hunter2@127.0.0.1:4040", "http://me:***@127.0.0.1:4040: the address holds"),
    ],
)
def test_an_invalid_address_is_refused_in_one_line(address, said):
    line = refusal(address)
    assert said in line
    assert "hunter2" not in line
