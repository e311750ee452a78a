"""Real store servers on loopback, and a separate bucket for each test."""

from __future__ import annotations

import uuid

import pytest

from tests.servers import HdfsServer, S3Server


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory):
    """Start one S3 for all tests."""
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def bucket(s3_server):
    """Create an empty bucket, and return its name."""
    name = f"lab-{uuid.uuid4().hex}"
    s3_server.make_bucket(name)
    return name


@pytest.fixture(scope="session")
def hdfs_server(tmp_path_factory):
    """Start one HDFS for all tests."""
    with HdfsServer(tmp_path_factory.mktemp("hdfs")) as server:
        yield server
