"""Turn a skipped promise into a failure if ``EVENKEY_REQUIRE`` names ``promises``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.session import compiling

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyspark.sql import SparkSession


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a skipped test as failed, whatever skipped it."""
    report = yield
    _require(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Report a skipped file as failed."""
    report = yield
    _require(report)
    return report


def _require(report: pytest.TestReport | pytest.CollectReport) -> None:
    required = os.environ.get("EVENKEY_REQUIRE", "").replace(" ", "").split(",")
    if report.skipped and "promises" in required:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"EVENKEY_REQUIRE names promises, and this one did not run: {reason}"


@pytest.fixture(scope="package")
def session(spark: SparkSession) -> SparkSession:
    """Make a session that compiles plans, as users' sessions do, without broadcasts or merging."""
    own = compiling(spark)
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    own.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    own.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    own.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    return own
