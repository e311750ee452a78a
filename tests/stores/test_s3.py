"""An S3 bucket as a store, even if answers are lost."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import object_store, patience, store_at
from evenkey.core.stores.s3 import S3Store, options_of
from tests.servers import free_port, s3_settings
from tests.stores.conformance import CHECKS
from tests.stores.relays import Relay


@pytest.fixture
def relay(s3_server):
    with Relay(s3_server.port) as between:
        yield between


@pytest.fixture
def distant(relay, bucket):
    """Make a store whose requests go through the relay."""
    return store_at(f"s3a://{bucket}/state", s3_settings(relay.url))


@pytest.fixture
def impatient(monkeypatch):
    for module in (patience, object_store):
        monkeypatch.setattr(module, "PATIENCE", 0.0)


@pytest.mark.slow(1)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_bucket(s3_server, bucket, check):
    check(store_at(f"s3a://{bucket}/some/state", s3_server.settings))


@pytest.mark.slow(3)
def test_a_whole_bucket(s3_server, bucket):
    store = store_at(f"s3://{bucket}", s3_server.settings)
    store.put("a/object", b"x")
    assert store.names() == store.under("").names() == ["a/object"]
    assert store.path("a/object") == f"s3://{bucket}/a/object"


def test_both_spellings_are_the_same_place(s3_server, bucket):
    store_at(f"s3://{bucket}/state", s3_server.settings).put("object", b"x")
    assert store_at(f"s3a://{bucket}/state/", s3_server.settings).names() == ["object"]


def test_directories_of_others_are_no_objects(s3_server, bucket):
    s3_server.put(f"{bucket}/state/directory/")
    store = store_at(f"s3://{bucket}/state", s3_server.settings)
    assert store.names() == []
    # Such objects are deleted too, because Spark would treat the directory as not empty.
    marks = S3Store(f"s3://{bucket}", s3_server.settings)._bucket.directories
    assert marks("") == ["state/directory/"]
    store.clear()
    assert marks("") == []


@pytest.mark.parametrize("lost", [1, 3])
def test_a_creator_knows_its_object_though_the_answer_was_lost(distant, relay, lost):
    distant.create("first", b"so that the server's conditions are known")
    relay.answers_to_lose = lost
    assert distant.create("claim", b"mine")
    assert relay.lost == lost
    assert not distant.create("claim", b"another's")
    assert distant.read("claim") == b"mine"


@pytest.mark.slow(3)
def test_the_first_creation_of_a_process_may_lose_its_answers_too(bucket, relay):
    program = (
        "import pickle, sys; store = pickle.load(sys.stdin.buffer);"
        "print(store.create('claim', b'mine'), store.create('claim', b'mine'))"
    )
    relay.answers_to_lose = 2
    store = store_at(f"s3://{bucket}/state", s3_settings(relay.url))
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(store), capture_output=True, check=True
    )
    assert done.stdout.split() == [b"True", b"False"]
    assert relay.lost == 2


def test_a_claim_of_another_is_not_taken_for_ones_own_after_a_lost_answer(distant, relay):
    distant.create("claim", b"another's")
    relay.answers_to_lose = 1
    assert not distant.create("claim", b"mine")
    assert relay.lost == 1
    assert distant.read("claim") == b"another's"


def test_calls_outlive_a_store_that_is_away(distant, relay):
    distant.put("object", b"before")
    relay.answers_to_lose, relay.connections_to_refuse = 1, 4
    distant.put("object", b"after")
    assert relay.connections_to_refuse == 0
    relay.answers_to_lose, relay.connections_to_refuse = 1, 2
    assert distant.read("object") == b"after"
    relay.answers_to_lose = 1
    assert distant.names() == ["object"]
    relay.answers_to_lose = 1
    distant.delete("object")
    assert distant.names() == []


@pytest.mark.usefixtures("impatient")
def test_what_stays_away_is_an_error_of_the_system(bucket):
    store = store_at(f"s3://{bucket}/state", s3_settings(f"http://127.0.0.1:{free_port()}"))
    for call in (
        lambda: store.read("object"),
        lambda: store.find("object"),
        lambda: store.put("object", b""),
        lambda: store.create("object", b""),
        store.names,
        lambda: store.delete("object"),
    ):
        with pytest.raises(OSError, match=f"s3://{bucket}/state/.*: the store failed for 0 s"):
            call()


def test_a_bucket_that_is_not_there_is_not_an_absent_object(s3_server):
    store = store_at("s3://no-such-bucket/state", s3_server.settings)
    with pytest.raises(OSError, match="NoSuchBucket") as caught:
        store.find("object")
    assert not isinstance(caught.value, FileNotFoundError)
    with pytest.raises(OSError, match="NoSuchBucket"):
        store.create("object", b"")


class _Heedless(BaseHTTPRequestHandler):
    """A server that ignores the conditions of puts, and rejects requests with another secret."""

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_server_that_does_not_heed_conditions_is_refused():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Heedless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        store = store_at("s3://any/state", s3_settings(f"http://127.0.0.1:{server.server_port}"))
        with pytest.raises(OSError, match="overwrites objects despite If-None-Match"):
            store.create("claim", b"mine")
        server.shutdown()


@pytest.mark.usefixtures("impatient")
def test_credentials_are_in_nothing_that_is_shown(bucket, caplog):
    port = free_port()
    settings = {
        **s3_settings(f"http://127.0.0.1:{port}"),
        "fs.s3a.session.token": "a-token-of-tests",
        f"fs.s3a.bucket.{bucket}.secret.key": "a-secret-of-this-bucket",
    }
    caplog.set_level("DEBUG", logger="evenkey")
    store = store_at(f"s3a://{bucket}/state", settings)
    with pytest.raises(OSError, match="failed") as caught:
        store.put("object", b"")
    shown = [
        repr(store),
        str(store),
        store.url,
        store.path("object"),
        repr(store.under("a")),
        str(caught.value),
        caplog.text,
        json.dumps({"state": store.url}),
    ]
    for secret in ("a-key-of-tests", "a-secret-of-tests", "a-token-of-tests", "of-this-bucket"):
        assert not any(secret in text for text in shown)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_what_a_server_says_of_a_secret_is_not_repeated():
    store = S3Store("s3://bucket/state", s3_settings("http://127.0.0.1:1"))
    error = RuntimeError("refused: a-secret-of-tests\nof a-key-of-tests")
    assert str(store._as_os_error("object", error)).endswith("RuntimeError: refused: ... of ...")


def test_credentials_come_from_the_environment_too(s3_server, bucket, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.url)
    store = store_at(f"s3://{bucket}/state")
    store.put("object", b"x")
    assert store_at(f"s3://{bucket}/state", s3_server.settings).read("object") == b"x"


def test_without_credentials_the_fix_is_named(bucket, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(OSError, match=r"Unable to locate credentials.*fs\.s3a\.access\.key"):
        store_at(f"s3://{bucket}/state", {"fs.s3a.endpoint": "http://127.0.0.1:1"}).read("object")


def test_settings_of_a_bucket_override_general_ones():
    settings = {
        "fs.s3a.endpoint": "store:9000",
        "fs.s3a.bucket.mine.endpoint": "other:9000",
        "fs.s3a.bucket.mine.access.key": "k",
        "fs.s3a.vectored.read.min.seek.size": "128K",  # Spark 4.1 has it in every session
    }
    assert options_of("mine", settings) == {"endpoint": "other:9000", "access.key": "k"}
    assert options_of("another", settings) == {"endpoint": "store:9000"}


def test_only_needed_settings_are_serialised():
    others = {"fs.azure.account.key.a": "a-key-of-azure", "fs.s3a.bucket.b.secret.key": "b's key"}
    settings = s3_settings("http://127.0.0.1:1") | others
    travels = pickle.dumps(store_at("s3://bucket/state", settings).under("further"))
    assert not [key for key in others.values() if key.encode() in travels]


def test_without_its_package_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    store = store_at("s3://bucket/state", {"fs.s3a.endpoint": f"http://127.0.0.1:{free_port()}"})
    with pytest.raises(ConfigurationError, match=r"boto3.*: pip install 'evenkey\[s3\]'"):
        store.read("object")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("s3a://key:a-secret@bucket/state", "must not contain a password"),
        ("s3a:/bucket/state", "pass it as text"),
        ("s3a:///state", "no bucket"),
    ],
)
def test_a_place_that_cannot_be_is_refused(place, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        store_at(place)
    assert "a-secret" not in str(caught.value)
