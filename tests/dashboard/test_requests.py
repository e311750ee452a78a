"""Requests that the page does not send are answered with status 400 and one line."""

from __future__ import annotations

import json
import socket
import threading
from copy import deepcopy
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from evenkey.reports.dashboard import Server

UPDATE = "_dash-update-component"
VALUES = {"asked": {"number": 1}, "theme": "light", "seen": None}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    server = Server([tmp_path_factory.mktemp("runs")], port=0)
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server.url
    server.close()
    thread.join()


@pytest.fixture(scope="module")
def question(url):
    """Return the request that the page itself sends."""
    callbacks = json.loads(answer(url, "_dash-dependencies")[1])
    (callback,) = (each for each in callbacks if each["output"].startswith(".."))
    names = callback["output"].strip(".").split("...")
    places = {part: [{**each} for each in callback[part]] for part in ("inputs", "state")}
    for each in [*places["inputs"], *places["state"]]:
        each["value"] = VALUES[each["id"]]
    outputs = [dict(zip(("id", "property"), each.rsplit(".", 1), strict=True)) for each in names]
    changed = {"changedPropIds": ["asked.data"]}
    return {"output": callback["output"], "outputs": outputs, **places, **changed}


def answer(url, path, body=None, kind="application/json"):
    """Return status and text of the server's answer."""
    request = Request(f"{url}{path}", data=body, headers={"Content-Type": kind})  # noqa: S310
    try:
        with urlopen(request) as given:  # noqa: S310 - our own server
            return given.status, given.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_requests_of_the_page_are_answered(url, question):
    status, text = answer(url, UPDATE, json.dumps(question).encode())
    assert status == 200
    assert "Waiting for a run" in text


def test_a_page_that_has_seen_the_present_state_gets_only_an_answer(url, question):
    _, text = answer(url, UPDATE, json.dumps(question).encode())
    seen = json.loads(text)["response"]["seen"]["data"]
    asked = deepcopy(question)
    for each in asked["state"]:
        each["value"] = seen
    status, text = answer(url, UPDATE, json.dumps(asked).encode())
    assert status == 200
    assert json.loads(text)["response"] == {"answered": {"data": 1}}


def refused(url, path, body=None, kind="application/json"):
    status, text = answer(url, path, body, kind)
    assert status == 400
    assert text.startswith("malformed request: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return text


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b"[" * 100_000, b"{}"]
)
def test_a_body_that_is_no_question_is_refused(url, body):
    refused(url, UPDATE, body)


def test_only_json_is_a_question(url, question):
    refused(url, UPDATE, json.dumps(question).encode(), "text/plain")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("output", 3),
        ("output", None),
        ("output", "x.y"),
        ("outputs", []),
        ("outputs", 5),
        ("inputs", []),
        ("inputs", None),
        ("inputs", [1]),
        ("inputs", [{"property": "data"}] * 2),
        ("state", None),
        ("state", {}),
        ("changedPropIds", 5),
        ("changedPropIds", [5]),
    ],
)
def test_a_part_of_another_shape_is_refused(url, question, name, value):
    assert name in refused(url, UPDATE, json.dumps({**question, name: value}).encode())


@pytest.mark.parametrize(
    ("name", "value"),
    [("asked", "x"), ("asked", {}), ("asked", 7), ("theme", ["a"]), ("theme", 3), ("seen", {})],
)
def test_a_value_that_the_page_does_not_hold_is_refused(url, question, name, value):
    asked = deepcopy(question)
    for each in [*asked["inputs"], *asked["state"]]:
        if each["id"] == name:
            each["value"] = value
    assert "must be values that the page sends" in refused(url, UPDATE, json.dumps(asked).encode())


def test_a_file_that_is_not_served_is_refused(url):
    assert "nope" in refused(url, "_dash-component-suites/nope/x.js")


def test_a_long_body_is_refused(url):
    status, text = answer(url, UPDATE, b" " * (2 << 20))
    assert (status, text.count("\n")) == (413, 1)


@pytest.mark.parametrize(
    "lines",
    [
        [b"GET http://[ HTTP/1.1"],
        [b"POST /_dash-update-component HTTP/1.1", b"Content-Length: abc"],
        [b"POST /_dash-update-component HTTP/1.1", b"Transfer-Encoding: chunked", b"", b"zz"],
    ],
)
def test_a_request_that_is_no_http_is_refused(url, lines):
    address = urlsplit(url)
    head = [b"Host: 127.0.0.1", b"Content-Type: application/json", b"Connection: close"]
    with socket.create_connection((address.hostname, address.port), 20) as connection:
        connection.sendall(b"\r\n".join([lines[0], *head, *lines[1:], b"", b""]))
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
