"""Join pipelines, from the configuration to the report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.joins.balance.epoch_log import EpochLog
from evenkey.papers.publish_subscribe import JoinConfig, compare_joins, run_join
from evenkey.papers.publish_subscribe.join_records import JoinRecords
from evenkey.pipeline.exporters import Exports, History, Parquet, RunInfo
from evenkey.pipeline.runs.driving.run_recorder import Recorder
from evenkey.pipeline.runs.driving.run_times import Timeline
from evenkey.pipeline.runs.output.commits import Commits
from tests.tiers import most_in_soak

if TYPE_CHECKING:
    from evenkey.pipeline.runs import EpochProgress

SMALL: dict[str, Any] = {
    "publications": 600,
    "subscriptions": 150,
    "workers": 2,
    "partitions": 6,
    "epochs": 3,
    "skew": 0.7,
    "polygon_share": 0.3,
    "seconds": 30,
    "min_items": 10,
}


def recorded(config, tmp_path):
    """Return the records of a finished run's epochs, made from its log and its commits."""
    (log,) = (config.output / "state" / "epochs").iterdir()
    history = History(tmp_path / "history")
    run = RunInfo("join", "publications", config.name, config.workers, config.sources)
    earlier = Commits(config.output).earlier_spans()
    exports = Exports([], run, partial(Parquet, history.store))
    with Recorder(exports, Timeline(earlier)) as recorder:
        records = JoinRecords(
            recorder,
            EpochLog(log),
            partitions=config.partitions_or_default,
            workers=config.workers,
            measure=config.load_measure,
            threshold=config.threshold,
            rejected=lambda: 0,
        )
        records.catch_up()
        recorder.close("finished")
    return [history.record(epoch) for epoch in history.numbers()]


@pytest.mark.slow(4)
@pytest.mark.usefixtures("spark")
def test_publications_that_arrive_at_a_rate_have_a_latency():
    report = run_join(JoinConfig(pipeline="spis", arrival_rate=2000, verify=True, **SMALL))
    latency = report.publication_latency_ms
    assert latency is not None
    assert all(each is not None and each > 0 for each in latency.values())
    assert report.pairs_digest == report.expected_digest


@pytest.mark.slow(4)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("pipeline", "mode"),
    most_in_soak(
        [("sps", "dynamic-lb-stal"), ("rihps", "dynamic-db-strl"), ("risps", "static-stal")],
        4,
        slow=[("rihps", "dynamic-db-strl")],
    ),
)
def test_pairs_are_those_of_one_process(pipeline, mode, tmp_path):
    reported: list[EpochProgress] = []
    options = {**SMALL, "force_redistribution": 1, "verify": True, "output": tmp_path / "out"}
    config = JoinConfig(pipeline=pipeline, mode=mode, **options)
    report = run_join(config, on_progress=reported.append)
    figures = report.to_json()
    assert figures["finished"]
    assert figures["pairs_digest"] == figures["expected_digest"]
    assert figures["matches"] > 100
    assert figures["epochs"] == len(figures["mldc"]) == len(figures["epoch_static_loads"]) == 3
    moved = [each["epoch"] for each in figures["redistributions"]]
    assert moved[:1] == ([1] if config.mode.startswith("dynamic") else [])
    for each in figures["redistributions"]:
        assert each["epoch_duration_ms"] > 0
        assert 0 <= each["load_seconds"] < each["epoch_duration_ms"] / 1000
        assert each["usual_epoch_duration_ms"]["p50"] == each["usual_epoch_duration_ms"]["max"] > 0
    assert [each.messages for each in reported[3:]] == [200, 400, 600]
    records = recorded(config, tmp_path)
    assert [each["mldc"] for each in records] == figures["mldc"]
    assert [each["epoch_static_loads"] for each in records] == figures["epoch_static_loads"]
    last = records[-1]
    assert last["moved_partitions"] == figures["moved_partitions"]
    if pipeline == "sps":
        # In other pipelines the join also gets rows that are not publications, and logs them too.
        assert last["messages"] == figures["messages"] == 600
        assert last["matches"] == figures["matches"]
    assert len(last["loads"]) == config.workers
    rows = [
        row
        for file in (tmp_path / "out" / "results").rglob("*.parquet")
        for row in pq.read_table(file).to_pylist()
    ]
    assert len({row["publication"] for row in rows}) == figures["matched_publications"]
    assert sum(len(row["subscriptions"]) for row in rows) == figures["matches"]
    again = run_join(config).to_json()
    assert again["pairs_digest"] == figures["pairs_digest"]
    assert again["mldc"] == figures["mldc"]
    with pytest.raises(ConfigurationError, match=r"skew was 0\.7 and is now 0\.6"):
        run_join(config.with_options(skew=0.6))


@pytest.mark.soak(4)
@pytest.mark.usefixtures("spark")
def test_a_paused_run_goes_on(tmp_path):
    config = JoinConfig(pipeline="spis", output=tmp_path / "out", verify=True, **SMALL)
    paused = run_join(config.with_options(time_limit=1e-3))
    assert not paused.finished
    assert len(paused.epochs) < SMALL["epochs"]
    with pytest.raises(
        ConfigurationError, match="workers was 2 and is now 3, but space was divided"
    ):
        run_join(config.with_options(workers=3))
    # Options that do not affect the results may change.
    report = run_join(config.with_options(sources=5, threshold=0.2, period=1.0, cache_mb=64))
    assert report.finished
    # A run that is paused before it has read any row leaves an empty epoch.
    assert sum(each.items.any() for each in report.epochs) == SMALL["epochs"]
    assert report.pairs_digest == report.expected_digest


@pytest.mark.slow(4)
@pytest.mark.usefixtures("spark")
def test_modes_of_files_of_publications_agree(tmp_path):
    (tmp_path / "in").mkdir()
    for part in range(2):
        points = shapely.points([[0.1 * part, 0.2], [0.3, 0.4 * part], [0.5, 0.5]])
        encoded = [*shapely.to_wkb(points)[:2], b"broken" if part else shapely.to_wkb(points[2])]
        numbers = range(3 * part, 3 * part + 3)
        table = pa.table({"publication": numbers, "geometry": pa.array(encoded, pa.binary())})
        pq.write_table(table, tmp_path / "in" / f"{part}.parquet")
    config = JoinConfig(pipeline="spis", input=tmp_path / "in", workers=2, epochs=2, verify=True)
    reports = compare_joins(config, ["static-strl", "dynamic-lb-stal"])
    assert {report.pairs_digest for report in reports} == {reports[0].expected_digest}
    assert [report.rejected for report in reports] == [1, 1]
    assert reports[0].matches == reports[1].matches > 5


def test_files_must_have_publications(tmp_path):
    with pytest.raises(ConfigurationError, match="does not exist"):
        run_join(JoinConfig(input=tmp_path / "none"))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"skew": 2}, "skew = 2"),
        ({"mode": "static"}, "mode = 'static': must be one of"),
        ({"workers": True}, "workers = true"),
        ({"workers": 9, "partitions": 8}, "partitions = 8: 9 workers"),
        ({"input": "a", "collisions": "b"}, "both given"),
        ({"skw": 0.5}, "did you mean 'skew'"),
    ],
)
def test_options_are_checked(options, error):
    with pytest.raises(ConfigurationError, match=error):
        JoinConfig(**options)


def test_a_file_gives_options_too(tmp_path):
    file = tmp_path / "join.toml"
    file.write_text('pipeline = "rihps"\npolygon-clustering = 0.5\nworkers = 3\n')
    config = JoinConfig.read(file, workers=5, epochs=None)
    assert (config.pipeline, config.polygon_clustering, config.workers) == ("rihps", 0.5, 5)
    assert config.partitions_or_default == 20
    file.write_text("workers = 0\n")
    with pytest.raises(ConfigurationError, match=r"join\.toml: workers = 0: must be at least 1"):
        JoinConfig.read(file)
