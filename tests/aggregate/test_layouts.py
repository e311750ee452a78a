"""A run that continues with other workers, sources and grouping is exact, and plans anew."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from evenkey import PipelineConfig, run
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.aggregate.observer import Observed, Observer
from evenkey.pipeline.exporters import History
from evenkey.pipeline.runs.output.commits import Commits
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.epoch_files import EpochFiles
from evenkey.pipeline.runs.output.layouts import Layouts
from evenkey.spark.plans.tables import RoutingTables

pytestmark = pytest.mark.usefixtures("spark")

LINES, EPOCHS, A_MINUTE = 4800, 10, 1200
FIRST = {"grouping": "planned", "workers": 4, "sources": 2}
_MAX_OVER_MEAN = 1.15
LAYOUTS: list[dict[str, Any]] = [
    FIRST,
    {"grouping": "dkg", "workers": 7, "sources": 3, "splitters": 2, "expected_keys": 50},
    # The plans of the first layout still exist, although their epochs are long past.
    FIRST,
]


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """Write lines with one key that is hot throughout, and another hot key in each third."""
    path = tmp_path_factory.mktemp("input") / "clicks.jsonl"
    users = [
        ("always", f"hot {number * 3 // LINES}", f"cold {number * 7919 % 300}")[
            0 if number % 10 < 4 else 1 if number % 10 < 7 else 2
        ]
        for number in range(LINES)
    ]
    rows = ({"user": user, "n": number} for number, user in enumerate(users))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    windows: Counter[tuple[int, str]] = Counter()
    sums: Counter[tuple[int, str]] = Counter()
    for number, user in enumerate(users):
        windows[number // A_MINUTE, user] += 1
        sums[number // A_MINUTE, user] += number
    return path, windows, sums


def a_run(path, output, layout):
    return PipelineConfig(
        input=(path,),
        key="user",
        aggregator="clicks=count,total=sum(column=n)",
        rate=A_MINUTE / 60,
        aggregators=2,
        epochs=EPOCHS,
        output=output,
        **layout,
    )


def begin(config):
    with RunDirectory.opened(config.output) as directory:
        directory.begin(config.manifest())


def after(epochs, output):
    """Return a function that requests a pause after a number of epochs."""

    def pause(progress):
        if progress.epoch >= epochs - 1:
            (output / "state" / "paused").touch()

    return pause


@pytest.mark.soak
@pytest.mark.faults
def test_results_are_exact_through_all_layouts(clicks, tmp_path):
    path, windows, sums = clicks
    ended: list[int] = []
    for layout in LAYOUTS[:-1]:
        wanted = len(ended) + 1
        report = run(a_run(path, tmp_path, layout), on_progress=after(wanted, tmp_path))
        assert not report.finished
        ended = [each.epoch for each in report.epochs]
        assert len(ended) >= wanted
    report = run(a_run(path, tmp_path, LAYOUTS[-1]))
    assert report.finished

    found: dict[tuple[int, str], int] = {}
    totals: dict[tuple[int, str], int] = {}
    for row in ds.dataset(report.results, partitioning="hive").to_table().to_pylist():
        place = row["window_start"].minute, row["user"]
        assert place not in found
        found[place], totals[place] = row["clicks"], row["total"]
    assert found == windows
    assert totals == sums

    # An epoch's figures cover its own workers; the run's cover the epochs with the last workers.
    history = History(tmp_path / "history")
    recorded = [history.record(number) for number in history.numbers()]
    # Epochs that a pause leaves empty, and those that close windows, have no messages.
    records = [each for each in recorded if "epoch_loads" in each.figures]
    of_epochs = [len(each["epoch_loads"]) for each in records]
    first, second = of_epochs.index(7), of_epochs.index(7) + of_epochs.count(7)
    assert of_epochs == [4] * first + [7] * (second - first) + [4] * (EPOCHS - second)
    assert 0 < first < second < EPOCHS
    a_tenth = LINES // EPOCHS
    assert [sum(each["epoch_loads"]) for each in records] == [a_tenth] * EPOCHS
    assert [each["messages"] for each in records] == list(range(a_tenth, LINES + 1, a_tenth))
    assert [sum(each["loads"]) for each in records[second:]] == list(
        range(a_tenth, a_tenth * (EPOCHS - second) + 1, a_tenth)
    )
    assert report.metrics.loads == records[-1]["loads"]
    assert report.metrics.messages == report.lines == LINES

    # A layout has its own tables; the first one is made from the previous epochs.
    tables = tmp_path / "state" / "tables"
    old, *changed = [tables, *sorted(each for each in tables.iterdir() if each.name.isdigit())]
    assert len(changed) == len(LAYOUTS) - 1
    assert RoutingTables(old, "planned", 4).numbers()[0] == 0
    again = RoutingTables(changed[-1], "planned", 4)
    assert again.numbers()[0] == records[second - 1].epoch + 1
    # It plans for the current hot keys; with the old plan the epoch would be unbalanced.
    assert report.epochs[second].max_over_mean < _MAX_OVER_MEAN

    with pytest.raises(ConfigurationError, match="workers was 4 and is now 7"):
        run(a_run(path, tmp_path, LAYOUTS[1]))
    before = run(a_run(path, tmp_path, LAYOUTS[-1]))
    assert before.finished_before
    assert before.workers == FIRST["workers"]


@pytest.mark.slow(6)
def test_an_option_that_spark_pins_is_rejected_with_its_reason(clicks, tmp_path):
    path, _, _ = clicks
    config = a_run(path, tmp_path, FIRST)

    begin(config)
    with pytest.raises(ConfigurationError) as refused:
        run(config.with_options(aggregators=3, workers=8))
    assert str(refused.value) == (
        f"output {tmp_path} holds another run (aggregators was 2 and is now 3, but Spark does not "
        "change the number of partitions of its state; also workers was 4 and is now 8): choose "
        "another output, delete it, or repeat the previous options to continue it"
    )


def test_an_aggregator_that_depends_on_the_workers_of_keys_pins_them(tmp_path):
    config = PipelineConfig(
        dataset="uniform(keys=5)",
        aggregator="heavy-hitters(k=2,choices=2)",
        output=tmp_path,
        grouping="pkg",
    )
    begin(config)
    with pytest.raises(ConfigurationError) as refused:
        run(config.with_options(workers=8, sources=9))
    assert (
        "(workers was 10 and is now 8, but heavy-hitters depends on the workers of a key; also "
        "sources was 5 and is now 9)" in str(refused.value)
    )


def test_figures_of_epochs_cover_their_own_workers(tmp_path):
    """A run has 4 workers, then 2, then a late epoch of the first process."""
    placed = {0: [0, 3, 3], 1: [0, 1, 1], 2: [3]}
    output = RunDirectory(tmp_path)
    output.store.create("state/manifest.json", b'{"workers": 4, "format": 4}')
    Layouts(output.store, "state/manifest.json").change(2, {"workers": 2})
    for epoch, workers in placed.items():
        commits = Commits(tmp_path, claim=2 if epoch == 1 else 1)
        table = pa.table(
            {
                "worker": pa.array(workers, pa.int32()),
                "key": [f"{epoch} {number}" for number in range(len(workers))],
                "messages": [5] * len(workers),
            }
        )
        EpochFiles(commits, "state/").write("placed", epoch, 0, table)
        commits.commit(f"epoch={epoch:08d}")
    seen: list[Observed] = []
    observer = Observer(output.files, 2, workers_of=output.workers_of, on_epoch=seen.append)
    observer.catch_up()
    figures = [each.figures for each in seen]
    loads = [(5, 0, 0, 10), (5, 10), (0, 0, 0, 5)]
    assert [each["loads"] for each in figures] == [each["epoch_loads"] for each in figures] == loads
    assert [each["messages"] for each in figures] == [15, 30, 35]
    assert figures[0]["epoch_max_over_mean"] == pytest.approx(10 / (15 / 4))
    assert figures[1]["max_over_mean"] == pytest.approx(10 / 7.5)
    balance = observer.balance
    assert balance is not None
    assert (balance.messages, balance.max_over_mean) == (35, 4)


def test_a_layout_is_stored_when_it_changes(tmp_path):
    def tables(claim, **options):
        with RunDirectory.opened(tmp_path) as directory:
            assert directory.claim.number == claim
            directory.begin({"workers": 4, "grouping": "dkg", "seed": 1})
            directory.lay_out(options)
            return directory.tables.url.rpartition("state/")[2]

    first = {"workers": 4, "grouping": "dkg"}
    assert tables(1, **first) == tables(2, **first) == "tables"
    assert tables(3, workers=8, grouping="dkg") == "tables/00000003"
    assert tables(4, workers=8, grouping="dkg") == "tables/00000003"
    assert tables(5, **first) == "tables/00000005"
    layouts = RunDirectory(tmp_path).layouts
    assert [layouts.of(claim)["workers"] for claim in range(1, 7)] == [4, 4, 8, 8, 4, 4]
