"""One run has one set of figures: every surface shows the same numbers, to the last digit.

The texts of the summary and of the progress lines are read as they are printed, the JSON as it is
parsed, the page as it is drawn, and Prometheus' samples as they are served.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from evenkey.applications import ApplicationConfig, run
from evenkey.cli import progress_bars, summary
from evenkey.cli.output import print_json
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
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkey.pipeline.exporters import EpochRecord
    from evenkey.reports.dashboard.watched_runs import Run

pytestmark = pytest.mark.usefixtures("spark")

ONLY_IN_JSON = {"seconds"}
"""The time of a query is known only when the run has ended."""
LIGHT = THEMES["light"]
HUGE = (1 << 63) - 1


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


@pytest.fixture
def progress(monkeypatch, capsys):
    """Return a function to call with the progress, and one that returns the lines it printed."""
    monkeypatch.setattr(progress_bars, "_LINE_SECONDS", 0.0)
    with progress_bars.shown_progress(live=False) as show:
        capsys.readouterr()
        yield show, lambda: capsys.readouterr().err


@pytest.fixture
def parsed(capsys):
    """Return a function that prints a report as JSON, and parses what was printed."""

    def figures(report):
        capsys.readouterr()
        print_json(report.to_json())
        return json.loads(capsys.readouterr().out)

    return figures


def history_of(output: Path) -> list[EpochRecord]:
    history = History(output / "history")
    return [history.record(epoch) for epoch in history.numbers()]


def on_the_page(run: Run) -> dict[str, str]:
    """Return the figures on the card of a run by their labels."""
    (card,) = cards([run], LIGHT)
    _, _, *groups = card.children
    pairs = (each.children for group in groups for each in group.children[-1].children)
    return {name.children[0].children: text.children for name, text in pairs}


def of_run(record: EpochRecord) -> dict[str, Any]:
    return {name: each for name, each in record.figures.items() if not FIGURES[name].of_epoch}


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def agree(
    figures: dict[str, Any], record: EpochRecord, page: dict[str, str], table: dict[str, str]
) -> set[str]:
    """Check JSON, page and summary by the last record; return the compared figures of the run."""
    known: dict[str, Any] = of_run(record)
    every: Mapping[str, Any] = record.figures
    assert {name: figures[name] for name in known} == {
        name: plain(value) for name, value in known.items()
    }
    assert page == {
        FIGURES[name].label: FIGURES[name].written(value)
        for name, value in every.items()
        if "card" in FIGURES[name].shown
    }
    summed = {name: each for name, each in FIGURES.items() if "summary" in each.shown}
    assert {each.label: table.get(each.label) for each in summed.values()} == {
        each.label: each.written(known[name]) if name in known else None
        for name, each in summed.items()
    }
    return {*known}


def prometheus_agrees(samples: dict[str, Any], records: Sequence[EpochRecord]) -> None:
    """Check the served samples; after the last epoch with input they keep its figures."""
    last = records[-1]
    last_input = [each for each in records if each.get("epoch_loads")][-1]
    expected: dict[str, float] = {"evenkey_epoch": last.epoch}
    for name, value in {**last_input.figures, **last.figures}.items():
        served = prometheus_name(FIGURES[name])
        if isinstance(value, tuple):
            expected |= {f"{served} {worker}": each for worker, each in enumerate(value)}
        else:
            expected[served] = value / (1000 if FIGURES[name].unit == "ms" else 1)
    hot = {name: each for name, each in samples.items() if name.startswith("evenkey_hot_key_")}
    assert {name: each for name, each in samples.items() if name not in hot} == expected
    assert {name: each for name, each in hot.items() if "_messages " in name} == {
        f"evenkey_hot_key_messages {rank} {each.key}": each.messages
        for rank, each in enumerate(last_input.hottest, 1)
    }


def progress_agrees(printed: str, records: Sequence[EpochRecord]) -> None:
    """Check the figures of the printed lines by the records of their epochs."""
    found = re.findall(
        r"epoch (\d+), ([\d,]+) of [\d,]+ messages, max/mean (\S+), ([\d,]+)/s", printed
    )
    of_epochs = {each.epoch: each for each in records}
    assert int(found[-1][0]) == records[-1].epoch, printed
    for epoch, messages, balance, rate in found:
        record = of_epochs[int(epoch)]
        assert messages == FIGURES["messages"].cell(record["messages"])
        assert balance == FIGURES["max_over_mean"].written(record["max_over_mean"])
        assert rate == FIGURES["messages_per_second"].cell(record["messages_per_second"])


def charts_agree(run: Run, records: Sequence[EpochRecord]) -> set[str]:
    """Check each line of the page by the records; return the names of the drawn figures."""
    drawn = {}
    for name, each in FIGURES.items():
        known = [record[name] for record in records if record.get(name) is not None]
        if "chart" in each.shown and known:
            line = dashboard_charts.over_time([run], LIGHT, each).data[0]
            drawn[name] = [value for value in line.y if value is not None]
            assert drawn[name] == known, name
    return {*drawn}


def held_by_workers(run: Run) -> list[tuple[int, ...]]:
    """Return the loads by epoch in the texts of the heat map."""
    (cells,) = heat_maps.LOADS.draw([run], LIGHT).data
    columns = zip(*cells.text, strict=True)
    return [tuple(int(text.replace(",", "")) for text in column) for column in columns]


@pytest.mark.slow(14)
@pytest.mark.parametrize("paused", most_in_soak([False, True], 14, slow=[True]))
def test_all_surfaces_agree_on_a_run(tmp_path, scraped, printed, parsed, progress, paused):
    rows = [f"k{number % 7 if number % 3 else 0},{number % 5}" for number in range(1200)]
    rows[200:200] = [f"huge,{HUGE}"] * 2
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
    if paused:
        stop = when_running(output / "state" / "paused")
        slow = ApplicationConfig(**options, cost_ms=6)
        assert not run(slow, on_progress=stop).finished
    options["export"] = f"prometheus://127.0.0.1:{free_port()}"
    show, lines = progress
    report = run(ApplicationConfig(**options), on_progress=show)
    assert report.finished
    progress_lines = lines()

    figures, records = parsed(report), history_of(output)
    last = records[-1]
    (shown,) = Runs([output]).read()
    table = printed(summary, summary.print_run, report)
    compared = agree(figures, last, on_the_page(shown), table)
    assert {"makespan_ms", "messages", "epochs", "rejected", "late", "loads"} <= compared
    # Every declared figure of the run is compared, unless it is not known or named above.
    declared = {name for name, each in FIGURES.items() if not each.of_epoch}
    in_json = {name for name in declared & figures.keys() if figures[name] is not None}
    assert in_json - compared == ONLY_IN_JSON
    assert compared <= in_json
    assert figures["duration_p99_ms"] is None
    assert (last["lag"], last["state_rows"]) == (0, 1)  # the row that closes the windows stays
    assert table["messages"] == "1,202 of 8 keys"
    assert table["rejected"] == "4 of 1,206 lines"
    assert table["overflows"] == "1 results are null: a sum does not fit its type"
    assert (figures["messages"], figures["rejected"], figures["epochs"]) == (1202, 4, 4)
    assert (figures["overflows"], figures["late"]) == (1, 0)
    assert "late" not in table

    prometheus_agrees(scraped, records)
    progress_agrees(progress_lines, records)

    (bars,) = dashboard_charts.loads([shown], LIGHT, "loads").data
    assert list(bars.customdata) == figures["loads"]
    assert charts_agree(shown, records) > {
        "epoch_max_over_mean",
        "epoch_dist_cost",
        "epoch_stddev_percent",
        "epoch_duration_ms",
        "epoch_messages_per_second",
    }
    with_input = [each for each in records if each.get("epoch_loads")]
    assert len(with_input) == figures["epochs"]
    for name in ("epoch_max_over_mean", "epoch_dist_cost", "epoch_stddev_percent"):
        assert max(each[name] for each in with_input) == figures[name]["max"], name
    assert held_by_workers(shown) == [each["epoch_loads"] for each in with_input]
    (keys,) = heat_maps.HOT_KEYS.draw([shown], LIGHT).data
    for hot, texts in zip(with_input[-1].hottest, keys.text, strict=True):
        parts = [int(text.partition(" ")[0].replace(",", "")) for text in texts]
        assert [part for part in parts if part] == list(hot.held)


@pytest.mark.slow(9)
@pytest.mark.parametrize("pipeline", most_in_soak(["sps", "spis"], 9, slow=["spis"]))
def test_all_surfaces_agree_on_a_join(tmp_path, scraped, printed, parsed, progress, pipeline):
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
        export=(f"prometheus://127.0.0.1:{free_port()}",),
    )
    show, lines = progress
    report = run_join(config, on_progress=show)
    progress_lines = lines()
    figures, records = parsed(report), history_of(tmp_path / "out")
    (run,) = Runs([tmp_path / "out"]).read()
    table = printed(join_summary, join_summary.print_join, report)
    compared = agree(figures, records[-1], on_the_page(run), table)
    assert {"makespan_ms", "messages", "matches", "static_loads", "rejected"} <= compared
    prometheus_agrees(scraped, records)
    progress_agrees(progress_lines, records)

    assert table["publications"] == "600, 0 rejected"
    assert table["matches"] == f"{figures['matches']:,} (digest {figures['pairs_digest']})"
    mldc = [FIGURES["mldc"].written(each["mldc"]) for each in records]
    assert table["MLDC per epoch"] == " ".join(mldc)
    loads = [FIGURES["static_loads"].cell(each["epoch_static_loads"]) for each in records]
    assert table["static loads"] == " ".join(loads)
    moves = {each.epoch: each["epoch_moved_partitions"] for each in records}
    assert table["moved partitions"] == ", ".join(
        f"{count} before {epoch}" for epoch, count in moves.items() if count
    )
    of_epochs = {
        each["epoch"]: len(each["moved_partitions"]) for each in figures["redistributions"]
    }
    assert of_epochs == {epoch: count for epoch, count in moves.items() if count}
    for name in ("mldc", "mldc_items", "mldc_seconds", "epoch_duration_ms", "static_partitions"):
        assert figures[name] == [plain(each[name]) for each in records], name

    assert charts_agree(run, records) > {
        "mldc",
        "epoch_duration_ms",
        "epoch_max_over_mean",
        "epoch_messages_per_second",
        "epoch_moved_partitions",
    }
    (bars,) = dashboard_charts.loads([run], LIGHT, "loads").data
    assert list(bars.customdata) == figures["loads"]
    assert held_by_workers(run) == [each["epoch_loads"] for each in records]
    _, *moved = heat_maps.OWNERS.draw([run], LIGHT).data
    drawn = [partition for each in moved for partition in each.y]
    assert sorted(drawn) == sorted(
        partition for each in figures["redistributions"] for partition in each["moved_partitions"]
    )
