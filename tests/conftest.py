"""What all tests share: one Kafka broker, and Hypothesis without deadlines."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from evenkey.core.errors import ConfigurationError
from tests.brokers import start_broker
from tests.session import CONNECT
from tools.spark_home import use_home_without_zips

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tools.kafka_broker import Broker

# Tests end before Java's second compiler and its threads for memory have paid for themselves:
# with these, Spark takes a third less of the processor, in programs of tests, too.
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_LAUNCHER_OPTS", _OPTIONS)
# `make test` has written Spark's classes there: a third less again. Another Java passes them over.
_CLASSES = Path(__file__).parents[1] / "build" / "java-classes.jsa"
if _CLASSES.exists():
    _OPTIONS += f" -XX:SharedArchiveFile={_CLASSES} -Xlog:cds*=off -Xlog:class+path=off"
# Executors of local clusters take these from the driver.
_EXECUTORS = f'"-Dspark.executor.extraJavaOptions={_OPTIONS}"'
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{_OPTIONS} {_EXECUTORS}")
# Programs of tests have it, too: Python processes that Spark starts there compile nothing anew.
use_home_without_zips()

# Times are measured by benchmarks, never asserted by tests; the same examples run every time.
hypothesis.settings.register_profile("evenkey", deadline=None, derandomize=True)
hypothesis.settings.load_profile("evenkey")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Over Connect leave out what only a classic session has; start with files that take long."""
    seconds: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("slow")
        seconds[item.nodeid.partition("::")[0]] += marker.args[0] if marker is not None else 0
    items.sort(key=lambda item: -seconds[item.nodeid.partition("::")[0]])
    for item in items if CONNECT else ():
        marker = item.get_closest_marker("classic")
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=f"classic sessions only: {marker.args[0]}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip what the library itself says that this version of Spark cannot do."""
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
    """One real Kafka broker on loopback; a test uses topics of its own."""
    running = start_broker(tmp_path_factory.mktemp("kafka"))
    yield running
    running.stop()
