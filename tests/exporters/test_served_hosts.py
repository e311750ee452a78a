"""Web servers answer only requests for known hosts, as a defence against DNS rebinding."""

from __future__ import annotations

import http.client
import threading

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports, ServedHosts
from evenkey.reports.dashboard import Server
from tests.exporters.records import RUN, record
from tests.servers import eventually, free_port

ANSWERED = ["127.0.0.1:{port}", "localhost", "LOCALHOST:{port}", "[::1]:{port}", "board.example"]
REFUSED = [
    *("evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example"),
    *("127.0.0.1:{port}@evil.example", "127.0.0.1, evil.example", "10.0.0.5", "[::2]", ""),
]


@pytest.fixture
def dashboard(tmp_path):
    server = Server([tmp_path], port=0, allow_hosts=["board.example"])
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield int(server.url.rpartition(":")[2].strip("/")), "/_dash-layout"
    server.close()
    thread.join(10)


@pytest.fixture
def metrics():
    port = free_port()
    exports = Exports([f"prometheus://127.0.0.1:{port}?allow-host=board.example"], RUN)
    exports.offer(record(0))
    eventually(lambda: "Turkey" in ask(port, "/metrics")[1])
    yield port, "/metrics"
    exports.close("finished")


@pytest.fixture(params=["dashboard", "metrics"])
def served(request):
    return request.getfixturevalue(request.param)


def ask(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.mark.slow(1)
def test_known_hosts_are_answered(served):
    port, path = served
    for host in ANSWERED:
        assert ask(port, path, Host=host.format(port=port))[0] == 200, host


@pytest.mark.slow(1)
def test_other_hosts_are_rejected_in_one_line(served):
    port, path = served
    for host in REFUSED:
        status, text = ask(port, path, Host=host.format(port=port))
        assert (status, text.count("\n")) == (403, 1), host
        assert "this host is not served" in text, host
        assert "allow-host" in text, host


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_of_other_origins_are_rejected(served, method):
    port, path = served
    for origin in (
        *("http://evil.example", "null", "http://localhost:1", "https://[::1", ""),
        *(f"http://127.0.0.1:{port}.evil.example", f"http://evil.example@127.0.0.1:{port}"),
    ):
        status, text = ask(port, path, method, Host=f"127.0.0.1:{port}", Origin=origin)
        assert (status, text.count("\n")) == (403, 1), origin
    for origin in (f"http://127.0.0.1:{port}", "https://board.example"):
        status = ask(port, path, method, Host=f"127.0.0.1:{port}", Origin=origin)[0]
        assert status != 403


@pytest.mark.parametrize(
    ("listening", "answered", "refused"),
    [
        (
            "0.0.0.0",  # noqa: S104 - nothing listens there
            ["10.0.0.5:9108", "[fe80::1]", "localhost"],
            ["evil.example", "10.0.0.5.nip"],
        ),
        ("::", ["10.0.0.5"], ["evil.example"]),
        ("Box.local.", ["box.local:80", "box.local."], ["10.0.0.5", "other.local"]),
    ],
)
def test_a_server_on_all_addresses_answers_any_address(listening, answered, refused):
    hosts = ServedHosts(lambda _environment, _start: [], listening)
    assert all(map(hosts.serves, answered))
    assert not any(map(hosts.serves, refused))


@pytest.mark.parametrize("name", ["", "http://board.example", "board.example:80", "two words", "*"])
def test_an_allowed_host_must_be_a_host(tmp_path, name):
    message = r"allowed host = .*: it is not a host; write a name or address without port"
    with pytest.raises(ConfigurationError, match=message):
        Server([tmp_path], port=0, allow_hosts=[name])
    with pytest.raises(ConfigurationError, match=message):
        Exports([f"prometheus://127.0.0.1:{free_port()}?allow-host={name}"], RUN)
