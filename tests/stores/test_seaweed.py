"""A second S3 implementation, if it is installed: it serves many clients, and has a lock."""

from __future__ import annotations

import uuid

import pytest

from evenkey.core.stores import object_store, patience, store_at
from tests.servers import SeaweedServer, eventually, s3_settings
from tests.stores.conformance import CHECKS
from tests.stores.relays import Relay

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def seaweed(tmp_path_factory):
    import boto3

    with SeaweedServer(tmp_path_factory.mktemp("seaweed")) as server:
        settings = s3_settings(server.url)
        login = {
            "aws_access_key_id": settings["fs.s3a.access.key"],
            "aws_secret_access_key": settings["fs.s3a.secret.key"],
        }
        client = boto3.client("s3", endpoint_url=server.url, region_name="us-east-1", **login)
        client.create_bucket(Bucket="lab")

        def serves():
            try:
                client.put_object(Bucket="lab", Key="ready", Body=b"")
            except client.exceptions.ClientError:
                return False
            return True

        eventually(serves)
        yield server


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_bucket(seaweed, check):
    check(store_at(f"s3a://lab/{uuid.uuid4().hex}", s3_settings(seaweed.url)))


def test_a_creator_knows_its_object_though_answers_are_lost(seaweed):
    with Relay(seaweed.port) as relay:
        store = store_at(f"s3a://lab/{uuid.uuid4().hex}", s3_settings(relay.url))
        for lost in range(4):
            for number in range(2):
                relay.answers_to_lose = lost
                assert store.create(f"claims/{lost}", b"%d" % number) == (number == 0)
            assert store.read(f"claims/{lost}") == b"0"


@pytest.mark.parametrize("name", ["access.key", "secret.key"])
def test_a_wrong_key_is_an_immediate_error_that_does_not_repeat_it(seaweed, name, monkeypatch):
    for module in (patience, object_store):
        monkeypatch.setattr(module, "PATIENCE", 3600.0)
    settings = s3_settings(seaweed.url) | {f"fs.s3a.{name}": "a-wrong-one"}
    with pytest.raises(OSError, match=r"InvalidAccessKeyId|SignatureDoesNotMatch|403") as caught:
        store_at("s3a://lab/state", settings).read("object")
    assert "a-wrong-one" not in str(caught.value)
    assert "a-secret-of-tests" not in str(caught.value)
