"""A million messages from topic to topic, under each compared grouping."""

from __future__ import annotations

import pytest

from evenkey import PipelineConfig, run
from tests.kafka.counting import counted, send, truth

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

MESSAGES = 1_000_000


@pytest.fixture(scope="session")
def clicks(broker):
    send(broker, "million", MESSAGES)
    return f"{broker.server}/million"


@pytest.mark.parametrize("grouping", ["kg", "pkg", "sg", "dkg", "planned"])
def test_results_of_a_million_equal_exact_counts(spark, broker, clicks, grouping):
    config = PipelineConfig(
        kafka=clicks,
        output_kafka=f"{broker.server}/million-{grouping}-out",
        grouping=grouping,
        workers=10,
        epochs=4,
    )
    report = run(config)
    assert (report.metrics.messages, report.rejected, report.late) == (MESSAGES, 0, 0)
    assert counted(spark, broker, f"million-{grouping}") == truth(MESSAGES)
