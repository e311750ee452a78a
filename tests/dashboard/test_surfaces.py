"""One run has one set of figures: every surface shows the same numbers, to the last digit."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from evenkey.applications import ApplicationConfig
from evenkey.applications import run as run_prepared
from evenkey.cli import summary
from evenkey.cli.papers import join_summary
from evenkey.core.metrics import FIGURES
from evenkey.papers.publish_subscribe import JoinConfig, run_join
from evenkey.pipeline.exporters import History
from evenkey.pipeline.exporters.prometheus import Prometheus, prometheus_name
from evenkey.reports.dashboard import dashboard_charts, heat_maps
from evenkey.reports.dashboard.cards import cards
from evenkey.reports.dashboard.watched_runs import Runs
from evenkey.reports.pictures import THEMES
from tests.pausing import when_running
from tests.servers import fetch, free_port
from tests.tiers import most_in_soak

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.pipeline.exporters import EpochRecord
    from evenkey.pipeline.runs import EpochProgress
    from evenkey.reports.dashboard.watched_runs import Run

pytestmark = pytest.mark.usefixtures("spark")

ONLY_IN_JSON = {"seconds"}
"""The time of a query is known only when the run has ended."""
WHERE_IT_STANDS = {"lag", "state_rows", "state_bytes"}
"""Figures of the moment, which a report of the whole run does not have."""


@pytest.fixture
def scraped(monkeypatch) -> dict[str, Any]:
    """Return the samples that Prometheus would get last: the server ends with the run."""
    samples: dict[str, Any] = {}
    close = Prometheus.close

    def scrape(exporter, ending):
        text = fetch(f"http://{exporter.to.removeprefix('prometheus://')}/metrics")
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                own = [sample.labels.get(label) for label in ("worker", "rank", "key")]
                samples[" ".join([sample.name, *filter(None, own)])] = sample.value
        close(exporter, ending)

    monkeypatch.setattr(Prometheus, "close", scrape)
    return samples


@pytest.fixture
def printed(monkeypatch):
    """Return a function that prints a report, and returns the rows of the table by their names."""

    def rows(module, printer, report):
        page = Console(file=io.StringIO(), width=200)
        monkeypatch.setattr(module, "Printer", lambda: page)
        printer(report)
        lines = page.file.getvalue().splitlines()  # type: ignore[attr-defined]
        split = (line.strip().split("  ", 1) for line in lines if "  " in line.strip())
        return {name: text.strip() for name, text in split}

    return rows


def history_of(output: Path) -> list[EpochRecord]:
    history = History(output / "history")
    return [history.record(epoch) for epoch in history.numbers()]


def on_the_page(run: Run) -> dict[str, str]:
    """Return the figures on the card of a run by their labels."""
    (card,) = cards([run], THEMES["light"])
    pairs = (each.children for each in card.children[-1].children)
    return {name.children[0].children: text.children for name, text in pairs}


def of_run(record: EpochRecord) -> dict[str, Any]:
    return {name: each for name, each in record.figures.items() if not FIGURES[name].of_epoch}


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def agree(figures, record, page, table):
    """Check JSON, history, page and summary; return the names of the figures that were compared."""
    known = of_run(record)
    for name, value in known.items():
        declared = FIGURES[name]
        assert figures[name] == plain(value), name
        if "card" in declared.shown:
            assert page[declared.label] == declared.written(value), name
        if "summary" in declared.shown:
            assert table[declared.label] == declared.written(value), name
    return known.keys()


def progress_agrees(seen: list[EpochProgress], records, figures):
    """Check that progress has the figures of the records, and last those of the report."""
    of_epochs = {each.epoch: each for each in records}
    for each in seen:
        if each.epoch >= 0:
            record = of_epochs[each.epoch]
            assert each.messages == record["messages"]
            assert each.messages_per_second == record["messages_per_second"]
            assert each.max_over_mean == record["max_over_mean"]
    assert (seen[-1].epoch, seen[-1].phase) == (records[-1].epoch, "running")
    assert seen[-1].messages_per_second == figures["messages_per_second"]


@pytest.mark.slow(14)
@pytest.mark.parametrize("paused", most_in_soak([False, True], 14, slow=[True]))
def test_all_surfaces_agree_on_a_run(tmp_path, scraped, printed, paused):
    rows = [f"k{number % 7 if number % 3 else 0},{number % 5}" for number in range(1200)]
    rows[100:100] = ["broken"] * 4
    file, output = tmp_path / "clicks.csv", tmp_path / "out"
    file.write_text("\n".join(["key,value", *rows]))
    options: dict[str, Any] = {
        "input": file,
        "key": "key",
        "aggregator": "sum(column=value)",
        "grouping": "pkg",
        "workers": 3,
        "sources": 2,
        "aggregators": 2,
        "epochs": 4,
        "output": output,
    }
    seen: list[EpochProgress] = []
    if paused:
        stop = when_running(output / "state" / "paused")
        slow = ApplicationConfig(**options, cost_ms=6)
        assert not run_prepared(slow, prepare=False, on_progress=stop).finished
    options["export"] = f"prometheus://127.0.0.1:{free_port()}"
    report = run_prepared(ApplicationConfig(**options), prepare=False, on_progress=seen.append)
    assert report.finished

    figures, records = report.to_json(), history_of(output)
    last = records[-1]
    (run,) = Runs([output]).read()
    page = on_the_page(run)
    table = printed(summary, summary.print_run, report)
    compared = agree(figures, last, page, table)
    assert {"makespan_ms", "messages", "epochs", "rejected", "late", "loads"} <= compared
    # Every declared figure of the run is compared, unless it is not known or named above.
    declared = {name for name, each in FIGURES.items() if not each.of_epoch}
    in_json = {name for name in declared & figures.keys() if figures[name] is not None}
    assert in_json - compared == ONLY_IN_JSON
    assert compared <= in_json
    assert figures["duration_p99_ms"] is None
    assert (last["lag"], last["state_rows"]) == (0, 1)  # the row that closes the windows stays
    assert (figures["rejected"], figures["epochs"]) == (4, 4)
    assert table["messages"].startswith(f"{figures['messages']:,} of")
    assert table["rejected"].startswith(f"{figures['rejected']:,} of")

    for name, value in last.by_worker().items():
        for worker, each in enumerate(value):
            assert scraped[f"{prometheus_name(FIGURES[name])} {worker}"] == each
    for name, number in last.numbers().items():
        factor = 1000 if FIGURES[name].unit == "ms" else 1
        assert scraped[prometheus_name(FIGURES[name])] == number / factor, name
    assert scraped["evenkey_epoch"] == last.epoch
    progress_agrees(seen, records, figures)

    light = THEMES["light"]
    (bars,) = dashboard_charts.loads([run], light, "loads").data
    assert list(bars.customdata) == figures["loads"]
    with_input = [each for each in records if each.get("epoch_loads")]
    assert len(with_input) == figures["epochs"]
    (line,) = dashboard_charts.over_time([run], light, FIGURES["epoch_max_over_mean"]).data
    drawn = [each for each in line.y if each is not None]
    assert drawn == [each["epoch_max_over_mean"] for each in with_input]
    assert max(drawn) == figures["epoch_max_over_mean"]["max"]
    (cells,) = heat_maps.LOADS.draw([run], light).data
    held = [
        tuple(int(text.replace(",", "")) for text in row) for row in zip(*cells.text, strict=True)
    ]
    assert held == [each["epoch_loads"] for each in with_input]
    (keys,) = heat_maps.HOT_KEYS.draw([run], light).data
    for rank, (hot, texts) in enumerate(zip(with_input[-1].hottest, keys.text, strict=True), 1):
        assert scraped[f"evenkey_hot_key_messages {rank} {hot.key}"] == hot.messages
        parts = [int(text.partition(" ")[0].replace(",", "")) for text in texts]
        assert [part for part in parts if part] == list(hot.held)


@pytest.mark.slow(9)
@pytest.mark.parametrize("pipeline", most_in_soak(["sps", "spis"], 9, slow=["spis"]))
def test_all_surfaces_agree_on_a_join(tmp_path, printed, pipeline):
    config = JoinConfig(
        pipeline=pipeline,
        mode="dynamic-lb-stal",
        publications=600,
        subscriptions=150,
        workers=2,
        partitions=6,
        epochs=3,
        skew=0.7,
        polygon_share=0.3,
        seconds=30,
        min_items=10,
        force_redistribution=1,
        output=tmp_path / "out",
    )
    seen: list[EpochProgress] = []
    report = run_join(config, on_progress=seen.append)
    figures, records = report.to_json(), history_of(tmp_path / "out")
    last = records[-1]
    (run,) = Runs([tmp_path / "out"]).read()
    only_records = {"loads", "max_over_mean", "imbalance_fraction", "stddev_percent"}
    shared = {**figures, **{name: plain(last[name]) for name in only_records}}
    table = printed(join_summary, join_summary.print_join, report)
    compared = agree(shared, last, on_the_page(run), {**table, **on_the_page(run)})
    assert {"makespan_ms", "messages", "matches", "static_loads", "rejected"} <= compared
    assert table["makespan"] == FIGURES["makespan_ms"].written(last["makespan_ms"])
    assert figures["mldc"] == [each["mldc"] for each in records]
    assert figures["epoch_duration_ms"] == [each["epoch_duration_ms"] for each in records]
    assert figures["static_partitions"] == [each["static_partitions"] for each in records]
    progress_agrees(seen, records, figures)
    _, *moves = heat_maps.OWNERS.draw([run], THEMES["light"]).data
    drawn = [partition for each in moves for partition in each.y]
    assert sorted(drawn) == sorted(
        partition for each in figures["redistributions"] for partition in each["moved_partitions"]
    )
