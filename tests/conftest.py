"""Set-up of all tests: settings of Java and Hypothesis, and one Kafka broker."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import hypothesis
import pytest

from evenkey.core.errors import ConfigurationError
from tests.brokers import start_broker
from tests.java_options import JAVA_OPTIONS, SHORT_LIVED
from tests.session import CONNECT
from tools.spark_home import use_home_without_zips

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tools.kafka_broker import Broker

os.environ.setdefault("SPARK_LAUNCHER_OPTS", SHORT_LIVED)
# Executors of local clusters get these options from the driver.
_EXECUTORS = f'"-Dspark.executor.extraJavaOptions={JAVA_OPTIONS}"'
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{JAVA_OPTIONS} {_EXECUTORS}")
# Programs of tests inherit it, so that Python processes that Spark starts compile nothing again.
use_home_without_zips()

# Only benchmarks measure times, so there are no deadlines; every run has the same examples.
hypothesis.settings.register_profile("evenkey", deadline=None, derandomize=True)
hypothesis.settings.load_profile("evenkey")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out classic tests when run over Connect; run promises and long files first."""
    seconds: Counter[str] = Counter()
    for item in items:
        for each in item.iter_markers():
            if each.name in {"slow", "soak"} and each.args:
                seconds[item.nodeid.partition("::")[0]] += each.args[0]
    promises = "tests/promises/"  # the longest tests of those without marks

    def order(item: pytest.Item) -> tuple[float, bool]:
        return -seconds[item.nodeid.partition("::")[0]], not item.nodeid.startswith(promises)

    items.sort(key=order)
    for item in items if CONNECT else ():
        marker = item.get_closest_marker("classic")
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=f"classic sessions only: {marker.args[0]}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip a test if the library says that this version of Spark lacks a feature."""
    try:
        return (yield)
    except ConfigurationError as error:
        from evenkey.spark.sessions.versions import check_sources

        try:
            check_sources()
        except ConfigurationError as needed:
            if str(error) == str(needed):
                pytest.skip(str(needed))
        raise


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start one real Kafka broker on loopback; each test uses its own topics."""
    running = start_broker(tmp_path_factory.mktemp("kafka"))
    yield running
    running.stop()
