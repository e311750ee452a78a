"""What exporters cost: throughput of a run with all of them over one without."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import pytest

from evenkey.topology import PipelineConfig, run
from tests.servers import InfluxServer, PrometheusServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAIRS = 9
MESSAGES, WORKERS = 400_000, 10


@pytest.fixture
def influx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxServer]:
    with InfluxServer(tmp_path_factory.mktemp("influxdb")) as server:
        yield server


@pytest.fixture
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    with PrometheusServer(tmp_path_factory.mktemp("prometheus")) as server:
        yield server


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_exporters_cost(
    tmp_path: Path,
    influx: InfluxServer,
    prometheus: PrometheusServer,
    report: Callable[[str, str, str], None],
) -> None:
    config = PipelineConfig(
        dataset="zipf(z=1.4,keys=100000)", messages=MESSAGES, workers=WORKERS, grouping="dkg"
    )
    exporting = config.with_options(
        export=[
            influx.address,
            f"prometheus://127.0.0.1:{prometheus.target}",
            f"parquet:{tmp_path / 'metrics'}",
        ]
    )
    run(config)
    ratios = []
    for number in range(PAIRS):
        # The order changes, so that neither of the two always comes second.
        pair = [(config, "without"), (exporting, "with")][:: 1 if number % 2 else -1]
        measured = {name: run(each, prepare=False) for each, name in pair}
        assert all(each.dropped == 0 for each in measured["with"].exports)
        ratios.append(
            measured["with"].messages_per_second / measured["without"].messages_per_second
        )
    cost = 100 * (1 - statistics.median(ratios))
    spread = f"{100 * (1 - max(ratios)):.1f} to {100 * (1 - min(ratios)):.1f}"
    report(f"exporters' cost in throughput, median of {PAIRS} pairs", f"{cost:.1f} %", "3 %")
    report("the same, single pairs", f"{spread} %", "")
