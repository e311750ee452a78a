"""The chapter on the papers' results agrees with the stored outcomes."""

from __future__ import annotations

import functools
import json
import re
import zipfile

import pandas as pd
import pytest

from evenkey.papers.claims import PAPERS, all_claims, register
from evenkey.papers.experiments import available
from evenkey.reports.pictures import Axis, Chart, write_page
from tools.reproduction.__main__ import archive, known_commit, outcomes, pictures_of, shown_in
from tools.reproduction.links import linked
from tools.reproduction.pages import _form, _pictures, chapter, pages
from tools.reproduction.records import (
    FOLDER,
    ROOT,
    Record,
    read_notes,
    read_shared,
    records,
    tables_of,
    whys,
)
from tools.reproduction.redrawn import KINDS, files
from tools.reproduction.redrawn import plots as drawn
from tools.reproduction.shown_cells import arranged

written = functools.cache(pages)


def test_pages_are_current():
    stored = {name: (ROOT / "docs" / name).read_text("utf-8") for name in written()}
    differing = [name for name, text in written().items() if text != stored[name]]
    assert differing == [], "run `make reproduction`"


def test_every_experiment_has_a_row_and_every_kept_one_a_page():
    text = chapter().partition("## Tables, figures and sections")[2]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(available())
    kept = {record.id for record in records()}
    assert kept <= set(available())
    claims = {f"claims-{name}" for name in PAPERS}
    assert {file.stem for file in FOLDER.glob("*.md")} == kept | claims


def test_every_claim_is_listed_and_every_measured_one_on_the_page_of_its_experiment():
    for name, claims in register().items():
        listed = written()[f"reproduction/claims-{name}.md"]
        assert all(f"`{claim.id}`" in listed for claim in claims)
    assert sum(map(len, register().values())) == int(
        chapter().partition("| all | ")[2].partition(" |")[0]
    )


def test_every_link_leads_to_a_file():
    for name, text in written().items():
        page = ROOT / "docs" / name
        links = re.findall(r"\]\(([\w./-]+\.(?:md|png|svg))(?:#\w+)?\)", text)
        assert [link for link in links if not (page.parent / link).exists()] == [], name
    assert "](dkg-figure-13.md)" in written()["reproduction/claims-dkg.md"]


def test_every_link_to_a_claim_or_a_reason_has_its_anchor():
    pages = {name.rpartition("/")[2]: text for name, text in written().items()}
    ids = {name: set(re.findall(r'id="([^"]+)"', text)) for name, text in pages.items()}
    for name, text in pages.items():
        for file, wanted in re.findall(r"\]\(((?:claims-\w+\.md)?)#([\w-]+)\)", text):
            assert wanted in ids[file or name], (name, wanted)


def test_claims_stand_below_the_headings_of_their_sections():
    text = written()["reproduction/claims-dkg.md"]
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[0] == "Claims that do not hold"
    sections = headings[headings.index("Abstract") :]
    assert sections[:3] == ["Abstract", "Section 1", "Section 2.3.4"]
    assert sections[-4:] == ["Table 1", "Table 2", "Table 3", "Statements that are not claims"]
    assert "dkg-t3-kg" in text.partition("## Table 3")[2]


def test_known_names_become_links():
    outcomes = {"dkg-figure-9"}
    text = (
        "As `dkg-two-to-n` and dkg-figure-9 (decision 278), `dkg(a=1)`, [b](dkg-figure-9.md), x-y."
    )
    assert linked(text, "claims-dkg", outcomes) == (
        "As [`dkg-two-to-n`](#dkg-two-to-n) and [DKG, figure 9 a to e](dkg-figure-9.md) "
        "([decision 278](../decisions/278-murmur3-by-its-absolute-value.md)), `dkg(a=1)`, "
        "[b](dkg-figure-9.md), x-y."
    )
    assert linked("`dkg-two-to-n`", "claims-pkg", outcomes) == (
        "[`dkg-two-to-n`](claims-dkg.md#dkg-two-to-n)"
    )


def test_pages_show_no_tex():
    for name in PAPERS:
        text = written()[f"reproduction/claims-{name}.md"]
        assert re.findall(r"\\[a-zA-Z]+|\$|\be-0\d|\de\+\d|the other is 0", text) == []


def test_every_shared_reason_is_named_by_several_notes():
    notes = [*read_notes().values()]
    for name in read_shared():
        assert sum(f"{{{name}}}" in note for note in notes) > 1, name


def test_each_plot_has_a_picture_or_one_for_each_screen():
    for record in records():
        plots = range(1, len(record.given["plots"]) + 1)
        found = {file.name for file in pictures_of(record.id)}
        old = {f"{record.id}-{number}.png" for number in plots}
        new = {f"{record.id}-{number}-{kind}.svg" for number in plots for kind in KINDS}
        assert found in (old, new), record.id
        if drawn(record):
            assert found == new, "run `make reproduction`"


def test_pictures_of_series_are_those_of_the_run(tmp_path, monkeypatch):
    record = next(each for each in records() if each.id == "dkg-section-4")
    assert not drawn(record)
    monkeypatch.setattr("tools.reproduction.pages.FOLDER", tmp_path)
    named = [
        "![Load of each worker](dkg-section-4-1-laptop.svg#laptop)",
        "![Load of each worker](dkg-section-4-1-phone.svg#phone)",
    ]
    assert [line for line in _pictures(record) if line.startswith("!")] == named
    (tmp_path / "dkg-section-4-1.png").touch()
    named = ["![Load of each worker](dkg-section-4-1.png)"]
    assert [line for line in _pictures(record) if line.startswith("!")] == named


def test_plots_are_found_on_the_page_of_a_run(tmp_path):
    template = tmp_path / "own.html"
    template.write_text(
        '{% extends "base.html" %}{% block body %}{% include "plots.html" %}{% endblock %}'
    )
    points = pd.DataFrame({"x": [1, 2], "y": [3, 4], "run": ["a", "b"]})
    plots = [Chart(title, Axis("x", "X"), Axis("y", "Y"), "run").plot(points) for title in "AB"]
    page = write_page(tmp_path / "page.html", template, plots).read_text("utf-8")
    for kind, found in shown_in(page).items():
        assert [f'<svg viewBox="0 0 {KINDS[kind]} ' in each for each in found] == [True, True]


def test_a_picture_is_drawn_from_the_cells_of_a_table():
    record = next(each for each in records() if each.id == "pkg-table-1")
    again = files(record)
    assert sorted(again) == ["pkg-table-1-1-laptop.svg", "pkg-table-1-1-phone.svg"]
    for name, document in again.items():
        assert document == (FOLDER / name).read_text("utf-8"), "run `make reproduction`"
        assert "var(" not in document


def test_tables_with_many_columns_are_shown_with_a_row_per_setting():
    table = {
        "title": "Costs of a message, D",
        "columns": ["Scheme", "D = 1 ms: s, ours", "paper", "D = 2 ms: s, ours", "paper"],
        "cells": [["PKG", "1.0", "2.0", "3.0", "-"]],
    }
    (shaped,) = arranged("pkg-table-3", table)
    assert shaped["columns"] == ["Cost D", "Scheme", "s, ours", "paper"]
    assert shaped["cells"] == [["D = 1 ms", "PKG", "1.0", "2.0"], ["D = 2 ms", "PKG", "3.0", "-"]]
    assert arranged("pkg-table-1", table) == [table]


def test_what_does_not_hold_needs_a_reason():
    claims = all_claims()
    outcomes = tables_of(records())
    del outcomes["dkg-figure-13-spark"]
    noted = [
        each.id
        for verdict in ("does not hold", "not run")
        for each in claims
        if each.criteria and each.verdict(outcomes) == verdict
    ]
    notes = dict.fromkeys(noted, "Streams are short.")
    assert whys(notes, claims, outcomes) == notes
    with pytest.raises(ValueError, match=f"{noted[0]}: no note says why it does not hold"):
        whys(dict.fromkeys(noted[1:], "Short."), claims, outcomes)
    with pytest.raises(ValueError, match=f"{noted[-1]}: no note says why it is not run"):
        whys(dict.fromkeys(noted[:-1], "Short."), claims, outcomes)
    with pytest.raises(ValueError, match="pkg-twenty-lines: it needs no note"):
        whys({**notes, "pkg-twenty-lines": "Streams are short."}, claims, outcomes)


def test_a_page_says_that_its_experiment_has_changed():
    record = next(each for each in records() if not each.changed)
    other = Record(record.given, {"scenarios": "others", "summary": "Ten messages."})
    said = ["earlier form" in "\n".join(_form(each)) for each in (record, other)]
    assert said == [False, True]
    assert (record.summary, other.summary) == (record.experiment.summary, "Ten messages.")


def test_an_archive_of_the_same_results_has_the_same_bytes(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "0a.parquet").write_bytes(b"figures")
    (tmp_path / "pkg-table-2-full.json").write_text("{}")
    first, second = (archive(tmp_path, tmp_path / name) for name in ("a.zip", "b.zip"))
    assert first.read_bytes() == second.read_bytes()
    assert zipfile.ZipFile(first).namelist() == ["pkg-table-2-full.json", "results/0a.parquet"]


def test_an_experiment_is_taken_over_once(tmp_path):
    with pytest.raises(ValueError, match="there are no results"):
        outcomes(tmp_path)
    for scale in ("full", "quick"):
        text = json.dumps({"experiment": "pkg-table-2", "scale": scale})
        (tmp_path / f"pkg-table-2-{scale}.json").write_text(text)
        if scale == "full":
            assert [each["scale"] for each in outcomes(tmp_path).values()] == ["full"]
    with pytest.raises(ValueError, match=r"pkg-table-2-full\.json and pkg-table-2-quick\.json"):
        outcomes(tmp_path)


def test_a_commit_must_be_one():
    with pytest.raises(ValueError, match="COMMIT = 'no-such': there is no such commit here"):
        known_commit("no-such")
