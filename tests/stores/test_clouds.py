"""Stores in Azure and Google's cloud, tested against emulators if these are installed."""

from __future__ import annotations

import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import object_store, patience, store_at
from evenkey.core.stores.abfs import AbfsContainer
from evenkey.core.stores.buckets import Verdict
from evenkey.core.stores.gcs import GcsBucket
from tests.servers import AzureServer, GcsServer
from tests.stores.conformance import CHECKS
from tests.stores.relays import Relay

_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The fixed key of Azure's emulator."""


@pytest.fixture(scope="module")
def azure(tmp_path_factory):
    with AzureServer(tmp_path_factory.mktemp("azure")) as server:
        yield server


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    with GcsServer(tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture(params=["azure", "google"])
def cloud(request, monkeypatch):
    """Return a relay to the emulator, and the location of a store there."""
    server = request.getfixturevalue(request.param)
    name = f"lab-{uuid.uuid4().hex}"
    with Relay(server.port) as relay:
        if request.param == "azure":
            from azure.storage.blob import BlobServiceClient

            connection = _azure_at(relay.url, monkeypatch)
            with BlobServiceClient.from_connection_string(connection) as client:
                client.create_container(name)
            yield relay, f"abfss://{name}@{_ACCOUNT}.dfs.core.windows.net/state"
        else:
            from google.cloud import storage

            _google_at(relay.url, monkeypatch)
            storage.Client.create_anonymous_client().create_bucket(name)
            yield relay, f"gs://{name}/state"


def _azure_at(url, monkeypatch):
    connection = (
        f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};AccountKey={_KEY};"
        f"BlobEndpoint={url}/{_ACCOUNT};"
    )
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
    _no_clients_are_kept("abfs")
    return connection


def _google_at(url, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    _no_clients_are_kept("gcs")


def _no_clients_are_kept(module):
    from importlib import import_module

    import_module(f"evenkey.core.stores.{module}")._client.cache_clear()


@pytest.mark.soak
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_container(cloud, check):
    _, place = cloud
    check(store_at(place))


@pytest.mark.soak
def test_a_creator_knows_its_object_though_answers_are_lost(cloud):
    relay, place = cloud
    store = store_at(place)
    for lost in range(3):
        for number in range(2):
            relay.answers_to_lose = lost
            created = store.create(f"claims/{lost}", b"%d" % number)
            assert created == (number == 0)
        assert store.read(f"claims/{lost}") == b"0"
    assert relay.lost == 6


@pytest.mark.soak
def test_nothing_is_put_into_a_container_that_is_not_there(cloud):
    _, place = cloud
    store = store_at(place.replace("lab-", "none-"))
    with pytest.raises(OSError, match="none-"):
        store.put("object", b"")
    with pytest.raises(OSError, match="none-"):
        store.create("object", b"")


class _Away(BaseHTTPRequestHandler):
    """A server that rejects every request with a temporary error, and counts requests."""

    asked = 0

    def do_PUT(self):
        type(self).asked += 1
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_PUT  # noqa: N815 - a name of the standard library

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("connect", "place"),
    [
        (_azure_at, f"abfss://lab@{_ACCOUNT}.dfs.core.windows.net/state"),
        (_google_at, "gs://lab/state"),
    ],
    ids=["azure", "google"],
)
def test_a_client_does_not_try_again_by_itself(connect, place, monkeypatch):
    # Otherwise it could not recognise its own object after a lost answer.
    for module in (patience, object_store):
        monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(_Away, "asked", 0)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Away) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        connect(f"http://127.0.0.1:{server.server_port}", monkeypatch)
        with pytest.raises(OSError, match="the store failed for 0 seconds"):
            store_at(place).create("claim", b"mine")
        server.shutdown()
    assert _Away.asked == 1


@pytest.mark.parametrize(
    ("status", "text", "verdict"),
    [
        (404, "No such object: lab/one", Verdict.ABSENT),
        (404, "The specified bucket does not exist.", Verdict.FINAL),
        (412, "At least one precondition did not hold.", Verdict.TAKEN),
        (408, "", Verdict.PASSING),
        (429, "", Verdict.PASSING),
        (500, "", Verdict.PASSING),
        (503, "", Verdict.PASSING),
        (403, "", Verdict.FINAL),
        (499, "", Verdict.FINAL),
    ],
)
def test_answers_of_google_are_sorted(status, text, verdict):
    from google.api_core.exceptions import from_http_status

    assert GcsBucket("lab", {}).verdict(from_http_status(status, text)) is verdict


def test_broken_connections_to_google_pass_and_other_errors_do_not():
    import requests

    bucket = GcsBucket("lab", {})
    for error in (requests.ConnectionError(), requests.Timeout(), ConnectionResetError()):
        assert bucket.verdict(error) is Verdict.PASSING
    assert bucket.verdict(ValueError()) is Verdict.FINAL


@pytest.mark.parametrize(
    ("status", "code", "verdict"),
    [
        (404, "BlobNotFound", Verdict.ABSENT),
        (404, None, Verdict.ABSENT),  # the answer to a request for properties has no error code
        (404, "ContainerNotFound", Verdict.FINAL),
        (409, "BlobAlreadyExists", Verdict.TAKEN),
        (409, "ContainerBeingDeleted", Verdict.FINAL),
        (408, "", Verdict.PASSING),
        (429, "", Verdict.PASSING),
        (500, "InternalError", Verdict.PASSING),
        (403, "AuthenticationFailed", Verdict.FINAL),
    ],
)
def test_answers_of_azure_are_sorted(status, code, verdict):
    from azure.core.exceptions import HttpResponseError

    error = HttpResponseError("refused")
    error.status_code = status
    error.error_code = code  # type: ignore[attr-defined]
    assert AbfsContainer("lab", "host", {}).verdict(error) is verdict


def test_keys_of_an_account_are_in_nothing_that_is_shown():
    host = "account.dfs.core.windows.net"
    store = store_at(f"abfss://lab@{host}/state", {f"fs.azure.account.key.{host}": "a-key"})
    assert not any("a-key" in text for text in (repr(store), str(store), store.path("object")))


@pytest.mark.parametrize(
    "host", ["evil", "a.dfs.core.windows.net.evil", "evil#.core.windows.net", "10.0.0.1"]
)
def test_tokens_of_the_environment_go_to_azure_only(host, monkeypatch):
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    with pytest.raises(ConfigurationError, match="is not a server of Azure"):
        store_at(f"abfss://lab@{host}/state").read("object")


def test_a_place_without_an_account_is_refused():
    with pytest.raises(ConfigurationError, match="abfss://container@account"):
        store_at("abfss://container/state")
