"""The cost of exporters in throughput and processor time: a run with all of them, one without.

Nine interleaved pairs, of runs long enough that other load on the machine averages out. The target
concerns throughput. On a loaded machine, the throughput of single pairs differs by more than
exporters cost; the processor time of driver and workers then shows their cost. That of the driver
alone, which feeds the exporters, hardly depends on Spark's other work. The servers that receive the
metrics are not counted.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks.processor_time import processor_seconds
from evenkey import PipelineConfig, run
from tests.servers import InfluxServer, PrometheusServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from evenkey import RunReport

PAIRS = 9
SERVERS = (InfluxServer.program, PrometheusServer.program)
MESSAGES, EPOCHS, WORKERS = 1_600_000, 32, 10


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
        dataset="zipf(z=1.4,keys=100000)",
        messages=MESSAGES,
        epochs=EPOCHS,
        workers=WORKERS,
        grouping="dkg",
    )
    exporting = config.with_options(
        export=[
            influx.address,
            f"prometheus://127.0.0.1:{prometheus.target}",
            f"parquet:{tmp_path / 'metrics'}",
        ]
    )
    run(config)
    ratios, work, drivers = [], [], []
    for number in range(PAIRS):
        # Alternate the order, so that neither run of a pair is always the second.
        pair = [(config, "without"), (exporting, "with")][:: 1 if number % 2 else -1]
        measured: dict[str, RunReport] = {}
        spent: dict[str, float] = {}
        driver: dict[str, float] = {}
        for each, name in pair:
            before, own = processor_seconds(without=SERVERS), time.process_time()
            measured[name] = run(each)
            spent[name] = processor_seconds(without=SERVERS) - before
            driver[name] = time.process_time() - own
        work.append(spent["with"] / spent["without"])
        drivers.append((driver["with"] - driver["without"]) / spent["without"])
        assert all(each.dropped == 0 for each in measured["with"].exports)
        ratios.append(
            measured["with"].pace.messages_per_second / measured["without"].pace.messages_per_second
        )
    more = [100 * (ratio - 1) for ratio in work]
    report("the same in processor time", f"{statistics.median(more):.1f} %", "")
    report("single pairs of that", f"{min(more):.1f} to {max(more):.1f} %", "")
    share = 100 * statistics.median(drivers)
    report("what the driver does more, of all processor time", f"{share:.1f} %", "")
    least, most = 100 * min(drivers), 100 * max(drivers)
    report("single pairs of that", f"{least:.1f} to {most:.1f} %", "")
    cost = 100 * (1 - statistics.median(ratios))
    spread = f"{100 * (1 - max(ratios)):.1f} to {100 * (1 - min(ratios)):.1f}"
    report(f"exporters' cost in throughput, median of {PAIRS} pairs", f"{cost:.1f} %", "3 %")
    report("the same, single pairs", f"{spread} %", "")
