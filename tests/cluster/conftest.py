"""Clusters for tests: a shared one, and separate ones for tests that break theirs."""

from __future__ import annotations

import pytest

from tests.cluster.spark_cluster import SparkCluster
from tests.servers import ROOT


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Start hosts whose only shared storage is S3 and HDFS."""
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def breakable_cluster(tmp_path):
    """Start a cluster with S3 for one test, which may break it."""
    with SparkCluster(tmp_path, storage=["s3"]) as running:
        yield running


@pytest.fixture(scope="module")
def cluster_without_package(tmp_path_factory):
    """Start a cluster whose workers' hosts do not have evenkey."""
    with SparkCluster(tmp_path_factory.mktemp("cluster"), hidden=ROOT / "src") as running:
        yield running


@pytest.fixture(scope="module")
def cluster_without_storage(tmp_path_factory):
    """Start hosts without any shared storage."""
    with SparkCluster(tmp_path_factory.mktemp("cluster"), storage=()) as running:
        yield running
