"""Criteria read the cells of tables, and hold only within their size and tolerance."""

from __future__ import annotations

import pytest

from evenkey.papers.claims import read_claims

MEASURE = """
[measures.load]
experiment = "a-table"
words = "load"
keys = ["Method", "W"]
columns = ["Load"]

[[claims]]
id = "a"
at = "section 1"
quote = "so it is"
measure = "load"
"""


def judged(rule: str, *rows: tuple[str, str, str]):
    """Judge one claim by a table with the columns Method, W and Load."""
    (claim,) = read_claims(MEASURE + rule)
    table = {"title": "Loads", "columns": ["Method", "W", "Load"], "cells": [*rows]}
    (finding,) = claim.judged({"a-table": [table]})
    return finding


KG_ABOVE_PKG = 'more = {Method = "KG"}\nless = {Method = "PKG"}\n'
SIMILAR = 'word = "similar"\nvalue = {Method = "KG"}\nof = {Method = "PKG"}\n'


@pytest.mark.parametrize(
    ("word", "kg", "verdict"),
    [
        ("more", "1.01", "holds"),
        ("more", "1.00", "does not hold"),
        ("more", "0.99", "does not hold"),
        ("much", "1.50", "holds"),
        ("much", "1.49", "does not hold"),
        ("slightly", "1.20", "holds"),
        ("slightly", "1.21", "does not hold"),
        ("magnitudes", "100", "holds"),
        ("magnitudes", "99", "does not hold"),
    ],
)
def test_a_direction_has_the_size_of_its_word(word, kg, verdict):
    rule = f'word = "{word}"\n{KG_ABOVE_PKG}'
    assert judged(rule, ("KG", "5", kg), ("PKG", "5", "1.00")).verdict == verdict


def test_runs_whose_ranges_overlap_confirm_no_order():
    rule = f'word = "more"\n{KG_ABOVE_PKG}'
    apart = judged(
        rule, ("KG", "5", "1,200 (1,150 to 1,300)"), ("PKG", "5", "1,000 (900 to 1,140)")
    )
    assert apart.verdict == "holds"
    mixed = judged(
        rule, ("KG", "5", "1,200 (1,150 to 1,300)"), ("PKG", "5", "1,000 (900 to 1,160)")
    )
    assert (mixed.verdict, mixed.ours) == ("does not hold", "1.2x; ranges of runs overlap")


@pytest.mark.parametrize(
    ("pkg", "verdict", "ours"),
    [
        ("1,000 (900; 1,000; 1,200)", "holds", "1.2x"),
        ("1,000 (900; 1,000; 1,300)", "does not hold", "1.2x; not in every run"),
        ("1,200 (1,150; 1,200; 1,500)", "does not hold", "0.939x; not in every run"),
        ("1,400 (1,300; 1,400; 1,500)", "does not hold", "0.857x"),
        ("1,070", "holds", "1.12x"),
        ("1,090", "does not hold", "1.1x; not in every run"),
    ],
)
def test_runs_on_the_same_data_are_compared_one_by_one(pkg, verdict, ours):
    rows = ("KG", "5", "1,200 (1,080; 1,200; 1,300)"), ("PKG", "5", pkg)
    finding = judged(f'word = "more"\n{KG_ABOVE_PKG}', *rows)
    assert (finding.verdict, finding.ours) == (verdict, ours)


def test_the_ratio_is_the_median_of_the_runs():
    # The medians alone are equal.
    rows = ("KG", "5", "4 (2; 4; 6)"), ("PKG", "5", "4 (1; 5; 4)")
    finding = judged('value = {Method = "KG"}\nof = {Method = "PKG"}\nat_least = 0.8\n', *rows)
    assert (finding.verdict, finding.ours) == ("holds", "1.5x")
    rule = f'word = "more"\nwhere = {{W = "50"}}\nrelative_to = {{W = "5"}}\n{KG_ABOVE_PKG}'
    gains = ("KG", "50", "6 (6; 5; 12)"), ("PKG", "50", "4 (1; 4; 4)")
    assert judged(rule, *rows, *gains).ours == "2x"


def test_values_with_other_numbers_of_runs_are_compared_by_their_ranges():
    rule = f'word = "more"\n{KG_ABOVE_PKG}'
    two = ("PKG", "5", "1,000 (900; 1,100)")
    assert judged(rule, ("KG", "5", "1,200 (1,110; 1,200; 1,300)"), two).verdict == "holds"
    mixed = judged(rule, ("KG", "5", "1,200 (1,090; 1,200; 1,300)"), two)
    assert (mixed.verdict, mixed.ours) == ("does not hold", "1.2x; ranges of runs overlap")


def test_every_setting_must_agree_unless_the_claim_is_general():
    rows = [("KG", w, "2") for w in "1234"] + [("PKG", w, "1") for w in "123"]
    rule = f'word = "more"\n{KG_ABOVE_PKG}'
    finding = judged(rule, *rows, ("PKG", "4", "4"))
    assert finding.verdict == "does not hold"
    assert finding.ours == "0.5x to 2x in 4 settings; fails in 1: KG against PKG at W = 4 (0.5x)"
    assert judged(f'{rule}per = "generally"', *rows, ("PKG", "4", "4")).verdict == "holds"
    rows = [("KG", w, "2") for w in "1234"] + [("PKG", w, "1") for w in "12"]
    more = [("PKG", w, "4") for w in "34"]
    assert judged(f'{rule}per = "generally"', *rows, *more).verdict == "does not hold"


@pytest.mark.parametrize(("kg", "verdict"), [("1.2", "holds"), ("1.21", "does not hold")])
def test_similar_has_a_tolerance_in_both_directions(kg, verdict):
    assert judged(SIMILAR, ("KG", "5", kg), ("PKG", "5", "1")).verdict == verdict
    assert judged(SIMILAR, ("KG", "5", "1"), ("PKG", "5", kg)).verdict == verdict


@pytest.mark.parametrize(
    ("kg", "verdict"),
    [("0.70", "holds"), ("0.64", "holds"), ("0.63", "does not hold"), ("0.76", "does not hold")],
)
def test_the_percentage_of_a_change_has_the_tolerance(kg, verdict):
    rule = 'word = "about"\nvalue = {Method = "KG"}\nof = {Method = "PKG"}\nchange = -0.3\n'
    assert judged(rule, ("KG", "5", kg), ("PKG", "5", "1.00")).verdict == verdict


def test_up_to_is_the_setting_where_a_change_is_largest():
    rows = ("KG", "5", "0.95"), ("PKG", "5", "1.00"), ("KG", "9", "0.70"), ("PKG", "9", "1.00")
    rule = 'word = "about"\nvalue = {Method = "KG"}\nof = {Method = "PKG"}\nper = "most"\n'
    assert judged(f"{rule}change = -0.3", *rows).ours == "\N{MINUS SIGN}30 %"
    assert judged(f"{rule}change = -0.05", *rows).verdict == "does not hold"


def test_a_number_is_compared_with_each_of_several_values():
    rule = 'word = "exact"\nvalue = {Method = "KG", W = ["5", "10"]}\nis = [2.0, 3.0]\n'
    rows = ("KG", "5", "2.00"), ("KG", "10", "3.00")
    assert judged(rule, *rows).verdict == "holds"
    assert judged(rule, rows[0], ("KG", "10", "3.04")).verdict == "does not hold"


def test_values_below_a_floor_are_equal():
    rows = ("KG", "5", "0.01"), ("PKG", "5", "0.09")
    assert judged(f"{SIMILAR}floor = 0.1\n", *rows).verdict == "holds"
    assert judged(f"{SIMILAR}floor = 0.1\n", rows[0], ("PKG", "5", "0.13")).verdict != "holds"
    more = f'word = "more"\nfloor = 0.1\n{KG_ABOVE_PKG}'
    assert judged(more, ("KG", "5", "0.09"), ("PKG", "5", "0.01")).verdict == "does not hold"
    assert judged(more, ("KG", "5", "0.11"), ("PKG", "5", "0.01")).verdict == "holds"


def test_a_number_can_be_subtracted_first():
    rule = 'word = "about"\nminus = 1.0\nvalue = {Method = "KG"}\nis = 1.2\n'
    assert judged(rule, ("KG", "5", "1.21")).verdict == "holds"
    assert judged(rule, ("KG", "5", "1.04")).verdict == "does not hold"


def test_limits_hold_up_to_their_number():
    rule = 'value = {Method = "KG"}\nat_most = 2.0\n'
    assert judged(rule, ("KG", "5", "2.0")).verdict == "holds"
    assert judged(rule, ("KG", "5", "2.1")).verdict == "does not hold"
    rule = 'value = {Method = "KG"}\nof = {Method = "PKG"}\nat_least = 2.0\n'
    assert judged(rule, ("KG", "5", "2.0"), ("PKG", "5", "1.0")).verdict == "holds"
    assert judged(rule, ("KG", "5", "2.0"), ("PKG", "5", "1.1")).verdict == "does not hold"


def test_limits_hold_in_every_run():
    rule = 'value = {Method = "KG"}\nat_most = 2.0\n'
    assert judged(rule, ("KG", "5", "1.5 (1.0 to 2.0)")).verdict == "holds"
    beyond = judged(rule, ("KG", "5", "1.5 (1.0 to 2.1)"))
    assert (beyond.verdict, beyond.ours) == ("does not hold", "1.5; a run is beyond the limit")
    rule = 'value = {Method = "KG"}\nof = {Method = "PKG"}\nat_least = 2.0\n'
    assert judged(rule, ("KG", "5", "4 (4 to 5)"), ("PKG", "5", "1 (1 to 2)")).verdict == "holds"
    assert judged(rule, ("KG", "5", "4 (3 to 5)"), ("PKG", "5", "1 (1 to 2)")).verdict != "holds"


def test_no_value_is_in_a_gap():
    rule = 'value = {Method = "KG"}\noutside = [0.1, 0.5]\n'
    for kg, verdict in (("0.1", "holds"), ("0.5", "holds"), ("0.3", "does not hold")):
        assert judged(rule, ("KG", "5", kg)).verdict == verdict
    assert judged(rule, ("KG", "5", "0.3")).criterion.says == "load: KG not between 0.1 and 0.5"


def test_values_can_be_compared_relative_to_another_setting():
    rows = ("KG", "5", "2"), ("KG", "50", "6"), ("PKG", "5", "1"), ("PKG", "50", "4")
    rule = f'word = "more"\nwhere = {{W = "50"}}\nrelative_to = {{W = "5"}}\n{KG_ABOVE_PKG}'
    assert judged(rule, *rows).ours == "0.75x"


def test_a_figure_that_no_table_has_is_not_judged():
    rule = f'word = "more"\n{KG_ABOVE_PKG}'
    assert judged(rule, ("KG", "5", "2")).verdict == "not run"
    assert judged(rule, ("KG", "5", "not given"), ("PKG", "5", "1")).verdict == "not run"
    (claim,) = read_claims(MEASURE + rule)
    assert claim.verdict({}) == "not run"


def test_a_claim_needs_all_settings_that_it_names_to_hold():
    rule = f'word = "more"\nwhere = {{W = ["5", "10"]}}\n{KG_ABOVE_PKG}'
    some = judged(rule, ("KG", "5", "2"), ("PKG", "5", "1"))
    assert (some.verdict, some.ours) == ("not run", "2x; not run at W = 10")
    rows = ("KG", "5", "2"), ("PKG", "5", "1"), ("KG", "10", "2"), ("PKG", "10", "1")
    assert judged(rule, *rows).verdict == "holds"
    assert judged(rule, ("KG", "5", "1"), ("PKG", "5", "2")).verdict == "does not hold"


def test_settings_that_are_not_run_are_listed_by_their_numbers():
    rule = 'word = "more"\nmore = {W = ["1,000", "20"]}\nless = {W = ["5", "50"]}\n'
    some = judged(rule, ("KG", "20", "2"), ("KG", "5", "1"))
    assert (some.verdict, some.ours) == ("not run", "2x; not run at W = 50, 1,000")


def test_an_order_needs_all_its_steps_to_hold():
    rule = 'word = "more"\nrising = {W = ["5", "10", "50"]}\n'
    some = judged(rule, ("KG", "5", "1"), ("KG", "50", "2"))
    assert (some.verdict, some.ours) == ("not run", "2x; not run at W = 10")
    assert judged(rule, ("KG", "5", "2"), ("KG", "50", "1")).verdict == "does not hold"
    rows = ("KG", "5", "1"), ("KG", "10", "2"), ("KG", "50", "3")
    assert judged(rule, *rows).verdict == "holds"
    rows = ("KG", "5", "1"), ("KG", "10", "3"), ("KG", "50", "2")
    assert judged(rule, *rows).ours.endswith("fails in 1: W = 50 against 10 at KG (0.667x)")


def test_a_claim_holds_if_it_holds_for_every_measure():
    text = MEASURE.replace('measure = "load"', 'measure = ["load", "cost"]') + (
        f'word = "more"\n{KG_ABOVE_PKG}'
    )
    other = MEASURE.partition("[[claims]]")[0].replace("load", "cost").replace("Load", "Cost")
    (claim,) = read_claims(other + text)

    def verdict(kg: str, *costs: str):
        columns = ["Method", "W", "Load", *["Cost" for _ in costs[:1]]]
        cells = [["KG", "5", kg, *costs[:1]], ["PKG", "5", "1", *costs[1:]]]
        return claim.verdict({"a-table": [{"title": "", "columns": columns, "cells": cells}]})

    assert verdict("2", "2", "1") == "holds"
    assert verdict("2", "1", "2") == "does not hold"
    assert verdict("2") == "not run"
    assert verdict("0.5") == "does not hold"


def test_the_worst_settings_are_named_with_both_sides():
    rule = f'word = "more"\n{KG_ABOVE_PKG}'
    rows = [("KG", w, "1") for w in "12345"] + [("PKG", w, w) for w in "12345"]
    assert judged(rule, *rows).ours == (
        "0.2x to 1x in 5 settings; fails in 5, worst: KG against PKG at W = 5 (0.2x), "
        "KG against PKG at W = 4 (0.25x), KG against PKG at W = 3 (0.333x)"
    )


def test_a_ratio_to_0_is_named_and_is_no_end_of_a_range():
    rule = f'word = "more"\n{KG_ABOVE_PKG}'
    rows = ("KG", "5", "1"), ("PKG", "5", "0"), ("KG", "10", "3"), ("PKG", "10", "2")
    assert judged(rule, *rows[:2]).ours == "∞ (divided by 0)"
    some = "1.5x or more in 2 settings (in 1 of them the lower value is 0)"
    assert judged(rule, *rows).ours == some


def test_equal_figures_are_no_range():
    rule = 'word = "exact"\nvalue = {Method = "KG"}\nis = 2.0\n'
    assert judged(rule, *[("KG", w, "2") for w in "123"]).ours == "2 in all 3 settings"
    assert judged(rule, *[("KG", w, "2") for w in "12"]).ours == "2 in both settings"


def test_figures_of_different_numbers_are_named_in_the_order_of_the_criterion():
    rule = 'word = "exact"\nvalue = {Method = "KG", W = ["10", "5"]}\nis = [3000000.0, 2.0]\n'
    finding = judged(rule, ("KG", "5", "2"), ("KG", "10", "3,000,000"))
    assert finding.criterion.says == "load: 3,000,000 for W = 10, 2 for W = 5 (exact); Method = KG"
    assert finding.ours == "W = 10: 3,000,000; W = 5: 2"


def test_a_subtracted_number_is_shown_beside_the_figure():
    rule = 'word = "about"\nminus = 1.0\nvalue = {Method = "KG"}\nis = 2.4491\n'
    finding = judged(rule, ("KG", "5", "2.501"))
    assert finding.criterion.says == "load: KG is 2.4491 (about), both less 1"
    assert finding.ours == "2.501 (less 1: 1.501)"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ('rising = {W = ["5", "10", "50"]}', "rises from W = 5 to 10 to 50"),
        ('rising = {W = ["100", "50", "10", "5"]}', "rises step by step from W = 100 to 5"),
        ('rising = {Method = ["KG", "PKG"]}', "KG < PKG"),
    ],
)
def test_an_order_of_numbers_names_its_ends(rule, says):
    assert judged(f'word = "more"\n{rule}\n', ("KG", "5", "1")).criterion.says == f"load: {says}"


def test_many_combinations_are_counted():
    combinations = ", ".join(f'{{Method = "KG", W = "{w}"}}' for w in range(8))
    finding = judged(f"value = [{combinations}]\nat_most = 1.0\n", ("KG", "5", "1"))
    assert finding.criterion.says == (
        "load: 8 combinations of Method, W, from KG at W = 0 to KG at W = 7, at most 1"
    )
