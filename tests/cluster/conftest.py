"""One cluster for the tests that leave it whole."""

from __future__ import annotations

import pytest

from tests.cluster.spark_cluster import SparkCluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Hosts with S3 and HDFS as the only places that all of them reach."""
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def breakable_cluster(tmp_path):
    """A cluster of a test's own, which it may break."""
    with SparkCluster(tmp_path) as running:
        yield running


@pytest.fixture
def cluster_without_storage(tmp_path):
    """Hosts that share no place at all."""
    with SparkCluster(tmp_path, storage=False) as running:
        yield running
