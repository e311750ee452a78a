"""The runs that the page finds, and the state that it shows for each."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dash import html

from evenkey.core.metrics import FIGURES
from evenkey.core.stores import LocalStore
from evenkey.pipeline.exporters import History
from evenkey.reports.dashboard import watched_runs
from evenkey.reports.dashboard.cards import cards, standing
from evenkey.reports.dashboard.watched_runs import Runs
from evenkey.reports.pictures import THEMES
from tests.exporters.records import JOIN, RUN, closing_record, join_record, record


@pytest.fixture
def begin(tmp_path):
    def begin(place, grouping, epochs=2):
        history = History(tmp_path / place)
        history.begin(dataclasses.replace(RUN, run=grouping, grouping=grouping))
        for epoch in range(epochs):
            history.add(record(epoch, ended=1000.0 + len(place) + epoch))
        return history

    return begin


def text_of(component) -> str:
    if isinstance(component, list | tuple):
        return " ".join(map(text_of, component))
    children = getattr(component, "children", component)
    return (
        ""
        if children is None
        else str(children)
        if isinstance(children, str)
        else text_of(children)
    )


def on_card(name, value):
    """Return the text of a figure on a card: its label, its definition and its value."""
    return f"{FIGURES[name].label} {FIGURES[name].text} {value}"


def test_runs_are_found_and_read_on(tmp_path, begin):
    runs = Runs([tmp_path])
    assert runs.read() == []
    assert text_of(standing([])) == "Waiting for a run to begin …"
    assert text_of(standing([], [Path("out")])) == "Waiting for a run to begin in out …"
    first = begin("history", "kg")
    begin("compared/dkg/history", "dkg", epochs=0)
    (tmp_path / "run.json").write_text('{"of": "another program"}')
    (tmp_path / "compared" / "run.json").write_text("{")
    kg, dkg = runs.read()
    assert (kg.info.grouping, dkg.info.grouping) == ("kg", "dkg")
    assert [each.epoch for each in kg.records] == [0, 1]
    assert dkg.latest is None
    first.add(record(2))
    assert runs.read()[0].records[-1] == record(2)
    assert (
        text_of(standing(runs.read()))
        == "The stream is running: kg, dkg (waiting for the first epoch)"
    )


def test_runs_in_a_store_are_found_by_the_names_of_its_objects(tmp_path, begin, monkeypatch):
    monkeypatch.setattr(watched_runs, "store_at", lambda _: LocalStore(tmp_path))
    runs = Runs(["s3://bucket/runs"])
    begin("history", "kg")
    begin("compared/dkg/history", "dkg")
    begin("begun/history", "pkg", epochs=0)
    begin("one/folder/too/deep/history", "sg")
    assert [each.info.grouping for each in runs.read()] == ["kg", "dkg", "pkg"]


def test_a_directory_that_is_not_there_yet_is_waited_for(tmp_path, begin):
    runs = Runs([tmp_path / "to-come"])
    assert runs.read() == []
    begin("to-come/history", "kg")
    assert [run.info.grouping for run in runs.read()] == ["kg"]


def test_a_run_without_an_epoch_is_shown_as_such(tmp_path, begin):
    begin("history", "kg", epochs=0)
    (card,) = cards(Runs([tmp_path]).read(), THEMES["light"])
    assert "waiting for the first epoch" in text_of(card)


def test_a_card_of_a_join_has_the_figures_of_a_join(tmp_path):
    history = History(tmp_path)
    history.begin(JOIN)
    history.add(join_record(1))
    (card,) = cards(Runs([tmp_path]).read(), THEMES["light"])
    shown = text_of(card)
    for name, value in (
        *(("mldc", "0.400"), ("mldc_threshold", "0.50"), ("matches", "140")),
        *(("moved_partitions", "3"), ("epochs", "2")),
    ):
        assert on_card(name, value) in shown
    assert "DistCost" not in shown


def test_the_end_of_a_run_is_shown(tmp_path, begin):
    history = begin("history", "kg")
    history.end("paused")
    (run,) = Runs([tmp_path]).read()
    assert not run.state.running
    assert text_of(standing([run])).startswith("The stream has stopped: paused before its end 20")
    history.begin(RUN)
    assert Runs([tmp_path]).read()[0].state.running


def test_a_killed_run_is_recognized_by_its_silence(tmp_path, begin):
    history = begin("history", "kg")
    history.store.put("alive", b'{"at": 5}')
    (run,) = Runs([tmp_path]).read()
    assert (run.state.name, run.state.since) == ("silent", 5)
    assert "no sign of life since 1970" in text_of(standing([run]))


def test_a_card_has_the_metrics(tmp_path, begin):
    begin("history", "kg")
    (card,) = cards(Runs([tmp_path]).read(), THEMES["light"])
    assert isinstance(card, html.Article)
    shown = text_of(card)
    for figure in ("kg", "2 workers · 3 sources", "200", "66 /s", "1.200", "10.00 %"):
        assert figure in shown
    assert "MLDC" not in shown
    for name, value in (
        *(("dist_cost", "1.25"), ("rejected", "3"), ("late", "2"), ("lag", "800")),
        *(("duration_p50_ms", "900 ms"), ("duration_p99_ms", "1,100 ms")),
        *(("state_rows", "50"), ("state_bytes", "6.0 kB")),
    ):
        assert on_card(name, value) in shown


def test_a_card_divides_the_figures_of_the_run_and_of_the_last_epoch(tmp_path):
    history = History(tmp_path)
    history.begin(JOIN)
    history.add(join_record(1))
    (card,) = cards(Runs([tmp_path]).read(), THEMES["light"])
    _, _, run, epoch = map(text_of, card.children)
    assert run.startswith("Whole run")
    assert epoch.startswith("Last epoch: number 1 ")
    assert on_card("max_over_mean", "1.200") in run
    assert on_card("mldc", "0.400") in epoch


def test_a_card_says_why_the_last_epoch_is_not_counted(tmp_path, begin):
    history = begin("history", "kg")
    history.add(closing_record(2))
    (card,) = cards(Runs([tmp_path]).read(), THEMES["light"])
    _, _, run, epoch = map(text_of, card.children)
    assert on_card("epochs", "2") in run
    title = "Last epoch: number 2, which only closes windows"
    assert epoch.startswith(f"{title} {FIGURES['epochs'].text}")


@pytest.mark.parametrize("content", ["3", '"x"', "null", "[]", "[" * 100_000, '{"version": 2}'])
def test_a_file_of_another_program_hides_no_run(tmp_path, begin, content):
    begin("history", "kg")
    (tmp_path / "run.json").write_text(content)
    assert [each.info.grouping for each in Runs([tmp_path]).read()] == ["kg"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("run.json", {"workers": "four"}),
        ("run.json", {"grouping": 3}),
        ("ended.json", {"ending": "exploded", "at": 1.0}),
        ("ended.json", {"ending": ["finished"], "at": 1.0}),
        ("ended.json", {"ending": "finished", "at": "now"}),
        ("ended.json", {"ending": "finished", "at": 1e300}),
        ("ended.json", {"ending": "finished"}),
        ("alive", [1]),
        ("epochs/00000000.parquet", None),
    ],
)
def test_a_run_with_broken_files_hides_no_other_run(tmp_path, begin, file, content):
    begin("one/history", "kg")
    broken = begin("two/history", "pkg").store
    if content is None:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"evenkey.history": "2"}), sink)
        broken.put(file, sink.getvalue().to_pybytes())
    elif file == "run.json":
        before = json.loads(broken.read(file))
        broken.put(file, json.dumps({**before, **content}).encode())
    else:
        broken.put(file, json.dumps(content).encode())
    runs = Runs([tmp_path]).read()
    assert [each.info.grouping for each in runs] == ["kg"]
    cards(runs, THEMES["light"])
