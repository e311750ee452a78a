"""Unexpected hot keys in whole runs: balanced epochs, exact results, and determinism."""

from __future__ import annotations

import encodings
import json
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from pydoc_data import topics

import pyarrow.dataset as ds
import pytest

from evenkey import run as run_typed
from evenkey.core.streams import generated
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.exporters import History
from evenkey.pipeline.runs import RunDirectory
from tests.groupings.planned.guarantee import most_uneven
from tests.runs.killing import finish, kill_in_the_middle, max_over_means, placed, started

pytestmark = pytest.mark.usefixtures("spark")

WORKERS, SOURCES = 10, 2
SMALL = {"workers": WORKERS, "sources": SOURCES, "aggregators": 2}
LEARNED = "planned(planning=previous)"
WITHOUT = "planned(planning=previous,surprise=none)"


def run(**options):
    return run_typed(PipelineConfig(**{**SMALL, **options}))


def most(messages):
    """Return the bound of docs/planned-reference.md for an epoch of this size."""
    return most_uneven(messages, WORKERS, SOURCES)


def counted(table, name="key"):
    counts: Counter[str] = Counter()
    for row in table.to_pylist():
        counts[row[name]] += row["count"]
    return counts


def unevenness(report):
    return [epoch.max_over_mean for epoch in report.epochs]


@pytest.mark.soak
@pytest.mark.parametrize("grouping", [LEARNED, "planned"])
def test_every_epoch_of_a_drifting_stream_is_balanced(grouping):
    """Hot keys change in the middle of the second epoch and of the fourth."""
    messages, epochs = 100_000, 4
    stream = generated("drift(z=1.2,keys=10000,every=40000)", messages=messages)
    report = run(dataset=stream.name, messages=messages, epochs=epochs, grouping=grouping)
    batch = stream.batch(0, messages)
    assert counted(report.table) == Counter(stream.texts(batch.ids).to_pylist())
    assert len(report.epochs) == epochs
    assert max(unevenness(report)) <= most(messages // epochs)


@pytest.mark.soak(4)
def test_without_spreading_changing_epochs_are_unbalanced():
    """Without spreading, the streams of the previous test are unbalanced."""
    report = run(
        dataset="drift(z=1.2,keys=10000,every=40000)", messages=100_000, epochs=4, grouping=WITHOUT
    )
    assert max(unevenness(report)) > 1.5


@pytest.mark.soak
@pytest.mark.parametrize("grouping", [LEARNED, "planned"])
def test_epochs_of_twenty_thousand_a_worker_are_within_an_eighth(grouping):
    """There are five sources, the default; hot keys change within and at the start of epochs."""
    messages, epochs = 800_000, 4
    stream = generated("drift(z=1.2,keys=10000,every=300000)", messages=messages)
    report = run(
        dataset=stream.name, messages=messages, epochs=epochs, grouping=grouping, sources=5
    )
    batch = stream.batch(0, messages)
    assert counted(report.table) == Counter(stream.texts(batch.ids).to_pylist())
    assert max(unevenness(report)) <= 1.12
    for epoch in report.epochs:
        assert epoch.dist_cost <= 1.10 * epoch.dist_cost_lower_bound


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("grouping", [LEARNED, "planned"])
def test_a_drifting_stream_is_balanced_and_exact_through_kills(tmp_path, grouping):
    """The run is killed in the middle of the second epoch, and again in a later one."""
    messages, epochs, output = 800_000, 4, tmp_path / "out"
    stream = generated("drift(z=1.2,keys=10000,every=300000)", messages=messages)
    command = [
        *("--dataset", stream.name, "--messages", str(messages), "--epochs", str(epochs)),
        *("--grouping", grouping, "--workers", str(WORKERS), "--sources", "5"),
        *("--aggregators", "2", "--cost-ms", "0.3", "--output", str(output)),
    ]
    for ended in (1, 2):
        log = tmp_path / f"log {ended}"
        with started(command, log) as process:
            kill_in_the_middle(process, output, log, after=ended)
    report = finish(command)
    assert (report["messages"], report["epochs"]) == (messages, epochs)
    results = ds.dataset(output / "results", partitioning="hive").to_table()
    batch = stream.batch(0, messages)
    assert counted(results) == Counter(stream.texts(batch.ids).to_pylist())
    assert sum(placed(output)["messages"].to_pylist()) == messages
    ratios = max_over_means(output, WORKERS)
    assert len(ratios) == epochs
    assert max(ratios) <= 1.12


def words_of(*texts):
    return (word for text in texts for word in re.findall(r"\w+", text.lower()))


@pytest.fixture(scope="module")
def two_texts(tmp_path_factory):
    """Write the words of Python's manual, then those of its character tables; few are in both."""
    manual = Path(topics.__file__).read_text(encoding="utf-8")
    modules = sorted(Path(encodings.__file__).parent.glob("*.py"))
    tables = (module.read_text(encoding="utf-8") for module in modules)
    words = [*islice(words_of(manual), 45_000), *islice(words_of(*tables), 45_000)]
    path = tmp_path_factory.mktemp("input") / "words.jsonl"
    path.write_text("".join(f"{json.dumps({'word': word})}\n" for word in words))
    return path, Counter(words)


@pytest.mark.soak
@pytest.mark.parametrize(
    "grouping",
    ["planned", *(pytest.param(each, marks=pytest.mark.soak) for each in (LEARNED, WITHOUT))],
)
def test_a_file_that_changes_its_hot_keys_without_warning(two_texts, tmp_path, grouping):
    """The first text ends in the middle of the second epoch; lines are split in Python."""
    path, expected = two_texts
    report = run(input=path, key="word", epochs=3, grouping=grouping, output=tmp_path)
    results = ds.dataset(report.results, partitioning="hive").to_table()
    assert counted(results, "word") == expected
    history = History(RunDirectory(tmp_path).history)
    records = [history.record(each).figures for each in history.numbers()]
    ratios = [each["epoch_max_over_mean"] for each in records if "epoch_max_over_mean" in each]
    assert ratios == pytest.approx(unevenness(report))
    assert (max(ratios) <= most(expected.total() // 3)) is (grouping != WITHOUT)


@pytest.mark.soak
def test_a_repeated_run_routes_every_message_to_the_same_worker(two_texts, tmp_path):
    """Routers start from the plan of an epoch, without state of other tasks or runs."""
    lines = two_texts[0].read_text().splitlines(keepends=True)
    path = tmp_path / "words.jsonl"
    path.write_text("".join(lines[40_000:50_000]))
    held = []
    for name in ("once", "again"):
        directory = tmp_path / name
        run(input=path, key="word", epochs=2, grouping=LEARNED, output=directory)
        rows = placed(directory).to_pylist()
        held.append(Counter({(row["worker"], row["key"]): row["messages"] for row in rows}))
    assert held[0] == held[1]
    assert len(held[0]) > len({key for _, key in held[0]})


@pytest.mark.soak(4)
def test_weights_are_spread_if_messages_are_routed_by_weight():
    """A generated stream with weights has a hot page that no plan expects."""
    messages = 5000
    stream = generated("wikipedia-pageviews-by-lang-like", messages=messages)
    uneven = {}
    for grouping in (LEARNED, WITHOUT):
        report = run(
            dataset=stream.name,
            messages=messages,
            epochs=1,
            grouping=grouping,
            aggregator="sum(column=count)",
            route_by="weights",
            observe_by="weights",
        )
        total = sum(row["sum"] for row in report.table.to_pylist())
        assert total == stream.batch(0, messages).counts.sum()
        uneven[grouping] = unevenness(report)[0]
    assert uneven[LEARNED] < 1.3
    assert uneven[WITHOUT] > 2
