"""The command-line program, and a fake pipeline that only returns reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import evenkey.applications
import evenkey.pipeline.aggregate
from evenkey.cli import app
from evenkey.pipeline.runs import EpochProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from typer.testing import Result

    from evenkey.pipeline.aggregate import PipelineConfig
    from evenkey.pipeline.runs.driving.progress import Phase

PACE = {"sg": 2.5, "kg": 1.0, "pkg": 1.8, "dkg": 3.4}


@dataclass
class FakeReport:
    """A report with only what the commands use."""

    config: PipelineConfig
    changes: dict[str, Any] = field(default_factory=dict)
    table: pa.Table | None = None

    def to_json(self) -> dict[str, Any]:
        figures: dict[str, Any] = {
            "dataset": self.config.dataset,
            "grouping": self.config.grouping,
            "workers": self.config.workers,
            "sources": self.config.sources,
            "messages": 50_000,
            "lines": 50_010,
            "rejected": 10,
            "late": 0,
            "overflows": 0,
            "keys": 204,
            "max_over_mean": 1.31623,
            "stddev_percent": 4.7041,
            "dist_cost": 3.2149,
            "moved_keys": 31,
            "moved_load": 2.5,
            "cardinality_imbalance": 12.5,
            "makespan_ms": 12_345.6,
            "messages_per_second": 1000 * PACE.get(self.config.grouping, 1.0),
            "epochs": 8,
            "duration_p50_ms": 1500.2,
            "duration_p99_ms": None,
            "average_imbalance_fraction": float("nan"),
            "finished": True,
            "finished_before": False,
            "route_by": self.config.route_by,
            "observe_by": self.config.observe_by,
            "exports": [],
            "output": {"results": "out/results", "dead_letters": "out/dead", "state": "out/state"},
        }
        return {**figures, **self.changes}


@dataclass
class FakePipeline:
    """Replaces `evenkey.applications.run` and `evenkey.pipeline.aggregate.compare`."""

    configs: list[PipelineConfig] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)
    table: pa.Table | None = None
    before: Callable[[], object] = lambda: None

    def run(self, config: PipelineConfig, *, on_progress: Callable[..., None]) -> FakeReport:
        self.configs.append(config)
        self.before()
        ended: list[tuple[int, Phase]] = [
            *((-1, "starting Spark"), (-1, "warming up")),
            *((0, "running"), (1, "closing")),
        ]
        for epoch, phase in ended:
            on_progress(
                EpochProgress(config.grouping, epoch, 25_000, 50_000, 1.3162, 4321.0, phase)
            )
        return FakeReport(config, self.changes, self.table)

    def compare(
        self, config: PipelineConfig, groupings: list[str], *, on_progress: Callable[..., None]
    ) -> list[FakeReport]:
        return [
            self.run(config.with_options(grouping=each), on_progress=on_progress)
            for each in groupings
        ]


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> FakePipeline:
    fake = FakePipeline()
    # Set in the `vars` of the module, because `monkeypatch.setattr` would import Spark.
    monkeypatch.setitem(vars(evenkey.applications), "run", fake.run)
    monkeypatch.setitem(vars(evenkey.pipeline.aggregate), "compare", fake.compare)
    return fake


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    return lambda *arguments: CliRunner().invoke(app, [str(each) for each in arguments])
