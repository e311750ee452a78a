"""Charts: which points, lines and panels are drawn."""

from __future__ import annotations

from typing import Any

import pandas as pd

from evenkey.reports.pictures import Axis, Chart, Grid

FRAME = pd.DataFrame(
    {
        "workers": [5, 10, 5, 10, 5],
        "imbalance": [1e-6, 2e-3, 0.0, 3e-2, 5e-1],
        "method": ["PKG", "PKG", "KG", "KG", "PKG"],
        "stream": ["WP", "WP", "WP", "WP", "TW"],
        "whose": ["ours", "ours", "ours", "ours", "paper"],
    }
)
X, Y = Axis("workers", "Workers", "category"), Axis("imbalance", "Imbalance, fraction", "log")


def drawn(**options) -> dict[str, Any]:
    drawn: dict[str, Any] = Chart("", X, Y, "method", **options).figure(FRAME).to_dict()
    return drawn


def test_one_line_per_group_without_values_below_zero_on_a_logarithmic_axis():
    lines = {line["name"]: line for line in drawn()["data"]}
    assert list(lines["PKG"]["x"]) == ["5", "10", "5"]
    assert list(lines["KG"]["y"]) == [3e-2]


def test_one_panel_per_value_with_one_legend_entry_per_group():
    figure = drawn(panels=Grid("stream", "{} stream"))
    assert [each["text"] for each in figure["layout"]["annotations"]] == ["WP stream", "TW stream"]
    shown = [line["name"] for line in figure["data"] if line["showlegend"]]
    assert sorted(shown) == ["KG", "PKG"]
    assert [line["xaxis"] for line in figure["data"]] == ["x", "x", "x2"]


def test_dashes_distinguish_ours_and_the_papers():
    lines = {line["name"]: line["line"] for line in drawn(dash="whose")["data"]}
    assert lines["PKG, ours"]["dash"] == "solid"
    assert lines["PKG, paper"]["dash"] == "dot"
    assert lines["PKG, ours"]["color"] == lines["PKG, paper"]["color"]


def test_many_points_are_a_thin_line_without_markers():
    many = pd.DataFrame({"workers": range(41), "imbalance": [0.1] * 41, "method": "PKG"})
    chart = Chart("", Axis("workers", "Workers"), Y, "method")
    (thick,), (thin,) = (chart.figure(rows).data for rows in (many[:40], many))
    assert (thick.mode, thin.mode) == ("lines+markers", "lines")
    assert thin.line.width < thick.line.width


def test_axes_have_titles_units_and_whole_decades():
    layout = drawn(kind="bars")["layout"]
    assert layout["xaxis"]["title"]["text"] == "Workers"
    assert layout["yaxis"]["title"]["text"] == "Imbalance, fraction"
    assert layout["yaxis"]["type"] == "log"
    assert list(layout["yaxis"]["range"]) == [-6, 0]


def test_columns_beside_each_other_are_distinguished_by_whose_they_are():
    frame = FRAME.assign(paper=[0.5, 0.25, 0.125, None, 1.0])
    chart = Chart(
        "", X, Axis("share", "Share"), kind="bars", beside={"ours": "imbalance", "paper": "paper"}
    )
    figure = chart.figure(frame)
    ours, paper = figure.data
    assert (ours.name, paper.name) == ("ours", "paper")
    assert list(ours.y) == frame["imbalance"].tolist()
    assert list(paper.y) == [0.5, 0.25, 0.125, 1.0]  # no point for a missing value
    assert figure.layout.legend.title.text == "Figures"


def test_a_plot_has_its_title_and_note():
    plot = Chart("Imbalance", X, Y, "method", note="Of all messages.").plot(FRAME)
    assert (plot.title, plot.note) == ("Imbalance", "Of all messages.")
    assert plot.figure.layout.legend.title.text == "Method"
