"""Charts: which points, lines and panels are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from evenkey.reports.pictures import GROUPINGS, THEMES, Axis, Chart, Grid
from evenkey.reports.pictures.chart import Points, coinciding

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
WIDE, NARROW = 960, 350
RUNS = THEMES["light"].runs


def drawn(
    frame=FRAME, width=WIDE, x=X, y=Y, group="method", **options
) -> Any:  # Matplotlib has no types for what an axis holds
    figure = Figure()
    Chart("", x, y, group, **options).plot(frame).fill(figure, width)
    return figure


def legend(figure):
    return [each.get_text() for each in figure.legends[0].get_texts()]


def test_one_line_per_group_without_values_below_zero_on_a_logarithmic_axis():
    figure = drawn()
    (panel,) = figure.axes
    pkg, kg = panel.lines
    assert legend(figure) == ["PKG", "KG"]
    assert list(pkg.get_xdata()) == [0, 1, 0]
    assert [each.get_text() for each in panel.get_xticklabels()] == ["5", "10"]
    assert list(kg.get_ydata()) == [3e-2]


def test_one_panel_per_value_with_one_legend_entry_per_group():
    figure = drawn(panels=Grid("stream", "{} stream"))
    assert [panel.get_title(loc="left") or panel.get_title() for panel in figure.axes] == [
        "WP stream",
        "TW stream",
    ]
    assert legend(figure) == ["PKG", "KG"]
    assert [len(panel.lines) for panel in figure.axes] == [2, 1]


def test_panels_are_below_each_other_on_a_phone():
    boxes = {
        width: [
            panel.get_subplotspec().get_position(figure).bounds[:2]
            for figure in [drawn(width=width, panels=Grid("stream"))]
            for panel in figure.axes
        ]
        for width in (WIDE, NARROW)
    }
    (left, _), (right, _) = boxes[WIDE]
    assert left < right
    (left, top), (right, bottom) = boxes[NARROW]
    assert left == right
    assert top > bottom


def test_dashes_distinguish_ours_and_the_papers():
    figure = drawn(dash="whose")
    lines = dict(zip(legend(figure), figure.axes[0].lines, strict=True))
    assert lines["PKG (ours)"].get_linestyle() == "-"
    assert lines["PKG (paper)"].get_linestyle() == ":"
    assert lines["PKG (ours)"].get_color() == lines["PKG (paper)"].get_color()


def test_a_grouping_has_one_colour_in_all_charts():
    other = FRAME.assign(method=["dkg", "pkg(choices=3)", "sg", "kg", "planned"], imbalance=1)
    first, second = (
        {
            label: line.get_color()
            for label, line in zip(legend(each), each.axes[0].lines, strict=True)
        }
        for each in (drawn(), drawn(other))
    )
    assert first["KG"] == second["kg"] == RUNS[GROUPINGS["kg"]]
    assert first["PKG"] == second["pkg(choices=3)"]
    assert len(set(second.values())) == len(second)


def test_many_points_are_a_thin_line_without_markers():
    many = pd.DataFrame({"workers": range(41), "imbalance": [0.1] * 41, "method": "PKG"})
    (thick,), (thin,) = (
        drawn(rows, x=Axis("workers", "Workers")).axes[0].lines for rows in (many[:40], many)
    )
    assert (thick.get_marker() != "", thin.get_marker()) == (True, "")
    assert thin.get_linewidth() < thick.get_linewidth()


BALANCED = pd.DataFrame(
    {
        "workers": [8, 16] * 3,
        "max_over_mean": [1.0, 1.0, 5.0, 10.0, 1.01, 1.01],
        "grouping": ["sg", "sg", "kg", "kg", "planned", "planned"],
        "stream": "WP",
    }
)
RATIO = Axis("max_over_mean", "Maximum over mean", "log")


def test_of_lines_that_coincide_those_below_are_wider():
    figure = drawn(BALANCED, y=RATIO, group="grouping")
    sg, kg, planned = (each.get_linewidth() for each in figure.axes[0].lines)
    assert sg > kg == planned
    assert len({each.get_linewidth() for each in figure.legends[0].get_lines()}) == 1


def test_the_note_names_the_lines_that_coincide():
    def note(frame, **options):
        return Chart("", X, RATIO, "grouping", note="1 is balanced.", **options).plot(frame).note

    coincide = (
        "1 is balanced. These lines coincide in most points; the widest is beneath the others"
    )
    assert note(BALANCED) == f"{coincide}: sg, planned."
    assert note(BALANCED, panels=Grid("stream")) == f"{coincide}: sg, planned in “WP”."
    many = pd.concat(BALANCED.assign(stream=str(each)) for each in range(5))
    generic = "1 is balanced. Some lines coincide in most points; the widest is beneath the others."
    assert note(many, panels=Grid("stream")) == generic
    assert note(BALANCED[:4]) == note(BALANCED, kind="bars") == "1 is balanced."


def test_lines_that_each_coincide_with_a_third_are_no_group():
    short, one = Points([3, 4], [1, 1]), Points(range(5), [8, 5, 2, 1, 1])
    other = Points(range(5), [2, 7, 8, 1, 1])
    assert coinciding([one, short, other]) == [[0, 1]]
    assert coinciding([one, short, short, other]) == [[0, 1, 2]]


def test_lines_that_share_half_of_their_points_do_not_coincide():
    one = Points(range(4), [1, 2, 3, 9])
    assert coinciding([one, Points(range(4), [1, 2, 8, 4])]) == []
    assert coinciding([one, Points(range(4), [1, 2, 3, 4])]) == [[0, 1]]


def test_axes_have_titles_units_and_whole_decades():
    (panel,) = drawn(kind="bars").axes
    assert panel.get_xlabel() == "Workers"
    assert panel.get_ylabel() == "Imbalance, fraction"
    assert panel.get_yscale() == "log"
    assert panel.get_ylim() == (1e-6, 1)


def test_no_value_above_zero_is_an_empty_chart():
    (panel,) = drawn(FRAME.assign(imbalance=0.0)).axes
    assert len(panel.lines) == 0


def test_numbers_of_ticks_have_thousands_separators():
    frame = pd.DataFrame({"workers": [0, 2_500_000], "imbalance": [0, 12_000], "method": "PKG"})
    figure = drawn(frame, x=Axis("workers", "Workers"), y=Axis("imbalance", "Messages"))
    figure.draw_without_rendering()
    (panel,) = figure.axes
    assert "2,500,000" in [each.get_text() for each in panel.get_xticklabels()]
    assert "10,000" in [each.get_text() for each in panel.get_yticklabels()]


def test_long_names_on_an_axis_are_turned_and_many_numbers_are_left_out():
    names = [f"wikipedia-pageviews-{end}" for end in "abcde"]
    frame = pd.DataFrame({"workers": names, "imbalance": 0.1, "method": "PKG"})
    (panel,) = drawn(frame, width=NARROW).axes
    assert {label.get_rotation() for label in panel.get_xticklabels()} == {35}
    more = pd.concat(frame.assign(workers=frame["workers"] + end) for end in ("", "-like", "-r80"))
    (panel,) = drawn(more, width=NARROW).axes
    assert {label.get_rotation() for label in panel.get_xticklabels()} == {90}
    weeks = pd.DataFrame({"workers": range(100), "imbalance": 0.1, "method": "PKG"})
    (panel,) = drawn(weeks, width=NARROW).axes
    assert len(panel.get_xticklabels()) < 20


def test_ticks_are_apart_by_the_width_of_a_number_below_and_by_a_line_beside():
    frame = pd.DataFrame(
        {
            "workers": range(0, 2_600_000, 100_000),
            "imbalance": range(0, 2_600_000, 100_000),
            "method": "PKG",
        }
    )
    figure = drawn(frame, NARROW, Axis("workers", "Workers"), Axis("imbalance", "Messages"))
    figure.draw_without_rendering()
    (panel,) = figure.axes
    assert {*np.diff(panel.get_xticks())} == {1_000_000}
    assert {*np.diff(panel.get_yticks())} == {500_000}


def test_columns_beside_each_other_are_distinguished_by_whose_they_are():
    frame = FRAME.assign(paper=[0.5, 0.25, 0.125, None, 1.0])
    figure = drawn(
        frame,
        y=Axis("share", "Share"),
        group="whose",
        kind="bars",
        beside={"ours": "imbalance", "paper": "paper"},
    )
    bars = figure.axes[0].patches
    colours = [to_hex(each.get_facecolor()) for each in bars]
    ours, paper = (
        [each.get_height() for each, of in zip(bars, colours, strict=True) if of == colour]
        for colour in RUNS[:2]
    )
    assert legend(figure) == ["ours", "paper"]
    assert ours == frame["imbalance"].tolist()
    assert paper == [0.5, 0.25, 0.125, 1.0]  # no bar for a missing value
    assert figure.legends[0].get_title().get_text() == "Figures"
    first, second = bars[0], bars[len(ours)]
    assert first.get_x() + first.get_width() <= second.get_x() + 1e-9


def test_a_baseline_is_a_dashed_line_with_the_name_of_its_column():
    figure = drawn(FRAME.assign(mean=0.25), y=Axis("imbalance", ""), kind="bars", baseline="mean")
    (line,) = figure.axes[0].lines
    assert set(line.get_ydata()) == {0.25}
    assert line.get_linestyle() == "--"
    assert legend(figure) == ["PKG", "KG", "mean"]


def test_a_plot_has_its_title_and_note_and_draws_at_any_width():
    plot = Chart("Imbalance", X, Y, "method", note="Of all messages.").plot(FRAME)
    assert (plot.title, plot.note) == ("Imbalance", "Of all messages.")
    assert 'viewBox="0 0 960 ' in plot.draw(960, "wide")
    assert 'viewBox="0 0 350 ' in plot.draw(350, "narrow")
    assert ">Method<" in plot.draw(350, "narrow")


def test_lying_bars_have_the_names_beside_them_from_the_top():
    figure = drawn(x=X, y=Axis("imbalance", "Imbalance"), kind="bars", sideways=True)
    (panel,) = figure.axes
    assert [each.get_text() for each in panel.get_yticklabels()] == ["5", "10"]
    assert panel.get_ylim() == (1.6, -0.6)  # Names are at 0 and 1, and a group is 0.8 high.
    assert panel.get_xlabel() == "Imbalance"
    assert max(bar.get_width() for bar in panel.patches) == FRAME["imbalance"].max()
    many = FRAME.assign(workers=range(5))
    heights = [
        Chart("", X, Y, "method", kind="bars", sideways=True).plot(each).height(WIDE)
        for each in (FRAME, many)
    ]
    assert heights[0] < heights[1]


def test_panels_have_one_range_of_a_linear_axis_if_it_is_shared():
    y = Axis("imbalance", "Imbalance")
    tops = {
        shared: [
            panel.get_ylim()[1] for panel in drawn(y=y, panels=Grid("stream", shared=shared)).axes
        ]
        for shared in (False, True)
    }
    assert len({*tops[True]}) == 1
    assert len({*tops[False]}) == 2


def test_ticks_are_at_the_values_if_these_are_few():
    uneven = pd.DataFrame({"workers": [10, 20, 50, 100], "load": [1.0] * 4, "method": "SG"})
    (panel,) = drawn(uneven, x=Axis("workers", "Workers"), y=Axis("load", "Load")).axes
    assert list(panel.get_xticks()) == [10, 20, 50, 100]
    close = uneven.assign(workers=[10, 11, 50, 100])
    (panel,) = drawn(close, x=Axis("workers", "Workers"), y=Axis("load", "Load")).axes
    assert 11 not in list(panel.get_xticks())


def test_an_axis_with_small_numbers_has_powers_of_ten_alone():
    (panel,) = drawn().axes
    write = panel.yaxis.get_major_formatter()
    assert [write(each) for each in (1.0, 0.1, 1e-6)] == ["1", "10⁻¹", "10⁻⁶"]
    assert len(panel.yaxis.get_minorticklocs()) == 0
