"""Whole runs in this process: exact results, counts that add up, pauses, rejections."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pyarrow.dataset as ds
import pytest

from evenkey import run as run_typed
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.runs import read_results
from evenkey.pipeline.runs.driving import job
from evenkey.pipeline.runs.input.sources import _ORIGIN_SECONDS
from tests.pausing import when_running
from tests.tiers import most_in_soak

pytestmark = pytest.mark.usefixtures("spark")

GROUPINGS = ["sg", "kg", "pkg", "dkg", "planned"]
SMALL = {"workers": 4, "sources": 3, "aggregators": 2}


def run(config, **options):
    return run_typed(config, **options)


def run_and_pause(config):
    """Run until the first epoch has ended, then pause, as a time limit does."""
    paused = config.output / "state" / "paused"
    return run(config, on_progress=when_running(paused))


def by_window(rows):
    """Map (window start in seconds of event time, key) to its count, and check for duplicates."""
    counts = {}
    for row in rows:
        at = (row["window_start"].timestamp() - _ORIGIN_SECONDS, row["key"])
        assert at not in counts
        counts[at] = row["count"]
    return counts


def expected(stream, window=60):
    batch = stream.batch(0, stream.length)
    texts = stream.texts(batch.ids).to_pylist()
    return Counter((t // window * window, key) for t, key in zip(batch.times, texts, strict=True))


@pytest.mark.slow(16)
@pytest.mark.parametrize("grouping", most_in_soak(GROUPINGS, 16, slow=["planned"]))
def test_counts_are_exact_under_every_grouping(grouping):
    stream = generated("country-skew-r80", messages=4000, seed=3)
    config = PipelineConfig(
        dataset=stream.name, messages=4000, seed=3, grouping=grouping, epochs=3, **SMALL
    )
    report = run(config)
    assert by_window(report.table.to_pylist()) == expected(stream)
    figures = report.to_json()
    assert figures["messages"] == figures["lines"] == 4000
    assert figures["rejected"] == figures["late"] == 0
    assert figures["epochs"] == 3
    assert figures["finished"]
    assert sum(figures["loads"]) == 4000
    if grouping == "kg":
        assert figures["dist_cost"] == 1.0
    if grouping == "sg":
        assert max(figures["loads"]) - min(figures["loads"]) <= 3 * 3


@pytest.mark.soak(6)
def test_a_different_number_of_splitters_routes():
    config = PipelineConfig(
        dataset="country-skew-r50", messages=3000, grouping="pkg", epochs=2, splitters=2, **SMALL
    )
    report = run(config)
    stream = generated("country-skew-r50", messages=3000)
    assert by_window(report.table.to_pylist()) == expected(stream)
    assert report.sources == 2


@pytest.fixture
def records(tmp_path):
    """A CSV file with valid and invalid records, and the sums of the valid ones."""
    lines = ["user,n"]
    sums: Counter[str] = Counter()
    for number in range(500):
        key = "hot" if number % 5 else f"cold {number % 40}"
        lines.append(f"{key},{number % 7 + 1}")
        sums[key] += number % 7 + 1
    lines[100:100] = ["", ",3", "hot,many", "hot,0", "hot", 'hot,"']
    path = tmp_path / "requests.csv"
    path.write_bytes("\n".join(lines).encode() + b"\nbroken \xff,1\n")
    return path, sums


@pytest.mark.soak(7)
def test_rejected_lines_are_dead_letters_and_all_lines_add_up(records, tmp_path):
    path, sums = records
    config = PipelineConfig(
        input=path,
        key="user",
        count="n",
        aggregator="sum(column=count)",
        output=tmp_path / "out",
        epochs=2,
        **SMALL,
    )
    report = run(config)
    results = ds.dataset(report.results, partitioning="hive").to_table().to_pylist()
    totals: Counter[str] = Counter()
    for row in results:
        totals[row["user"]] += row["sum"]
    assert totals == sums
    figures = report.to_json()
    assert (figures["lines"], figures["messages"], figures["rejected"]) == (507, 500, 7)
    dead_letters = ds.dataset(report.dead_letters, partitioning="hive").to_table().to_pylist()
    assert len(dead_letters) == 7
    assert all(each["reason"] for each in dead_letters)
    assert "hot,many" in {each["line"] for each in dead_letters}


@pytest.mark.slow(7)
def test_a_finished_run_is_not_run_again_nor_with_another_configuration(records, tmp_path):
    path, _ = records
    config = PipelineConfig(
        input=path, key="user", count="n", sink="jsonl", output=tmp_path / "out", epochs=2, **SMALL
    )
    first = run(config).to_json()
    files = sorted((tmp_path / "out" / "results").rglob("*.json"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert sum(row["count"] for row in rows) == 500
    again = run(config).to_json()
    assert again == {**first, "finished_before": True}
    assert not first["finished_before"]
    assert files == sorted((tmp_path / "out" / "results").rglob("*.json"))
    with pytest.raises(ConfigurationError, match=r"seed was 0 and is now 3"):
        run(config.with_options(seed=3))
    run(config.with_options(cost_ms=0.001))


@pytest.mark.slow(18)
def test_a_paused_run_continues(tmp_path):
    stream = generated("country-skew-r80", messages=2000)
    config = PipelineConfig(
        dataset=stream.name,
        messages=2000,
        output=tmp_path / "out",
        epochs=4,
        cost_ms=3.0,
        **SMALL,
    )
    paused = run_and_pause(config)
    assert not paused.finished
    assert 0 < paused.metrics.messages < 2000
    finished = run(config.with_options(cost_ms=0.0))
    assert finished.finished
    assert finished.metrics.messages == 2000
    # The counts include the epochs of the paused process.
    assert len(finished.timing.epoch_ms) == len(finished.epochs) == 4
    rows = ds.dataset(finished.results, partitioning="hive").to_table().to_pylist()
    assert by_window(rows) == expected(stream)


@pytest.mark.slow(4)
def test_top_k_over_windows():
    config = PipelineConfig(
        dataset="zipf(z=1.2,keys=50)", messages=3000, aggregator="top-k(k=3)", epochs=2, **SMALL
    )
    rows = run(config).table.to_pylist()
    truth = expected(generated("zipf(z=1.2,keys=50)", messages=3000))
    assert {row["rank"] for row in rows} == {1, 2, 3}
    for row in rows:
        start = row["window_start"].timestamp() - _ORIGIN_SECONDS
        true = truth[start, row["key"]]
        assert row["count"] - row["error"] <= true <= row["count"]


@pytest.mark.soak(8)
def test_changed_input_is_rejected_when_a_run_continues(records, tmp_path):
    path, _ = records
    config = PipelineConfig(
        input=path,
        key="user",
        count="n",
        output=tmp_path / "out",
        epochs=5,
        cost_ms=20.0,
        **SMALL,
    )
    assert not run_and_pause(config).finished
    path.write_text("user,n\nhot,1\n")
    with pytest.raises(Exception, match="changed"):
        run(config)


@pytest.mark.soak(10)
def test_input_of_the_same_size_but_other_content_is_rejected(records, tmp_path):
    path, _ = records
    config = PipelineConfig(
        input=path, key="user", output=tmp_path / "out", epochs=5, cost_ms=8.0, **SMALL
    )
    assert not run_and_pause(config).finished
    content = path.read_bytes()
    path.write_bytes(content[:-400] + content[-400:].replace(b"hot", b"ice"))
    with pytest.raises(Exception, match="has changed since the run began: restore it"):
        run(config)
    path.write_bytes(content)
    assert run(config).lines == 507


@pytest.mark.soak(7)
def test_a_second_run_is_rejected_while_the_first_lives(tmp_path):
    config = PipelineConfig(
        dataset="country-skew-r80", messages=1000, output=tmp_path / "out", epochs=2, **SMALL
    )
    refused = []

    def meanwhile(_):
        try:
            run(config)
        except ConfigurationError as error:
            refused.append(str(error))

    assert run(config, on_progress=meanwhile).finished
    assert refused
    assert all("is in use by process" in each for each in refused)
    table = read_results(tmp_path / "out")
    assert by_window(table.to_pylist()) == expected(generated("country-skew-r80", messages=1000))


@pytest.mark.slow(4)
def test_a_time_limit_pauses(tmp_path):
    config = PipelineConfig(
        dataset="country-skew-r80", messages=1000, time_limit=0.01, output=tmp_path, **SMALL
    )
    report = run(config)
    assert not report.finished
    assert report.metrics.messages < 1000


def test_a_session_over_connect_is_rejected_in_one_line():
    over_connect: Any = SimpleNamespace()
    with pytest.raises(
        ConfigurationError, match="the active session is a Spark Connect session"
    ) as no:
        job.Job.classic(over_connect)
    assert "\n" not in str(no.value)
