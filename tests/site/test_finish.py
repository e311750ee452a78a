"""The last changes of a page's HTML."""

from __future__ import annotations

import re

import pytest

from tools.site.finish import finished, on_post_page


def table(*rows):
    """Make a table as Markdown does."""
    head, *body = [[*row.split("|")] for row in rows]
    lines = ["<table>", "<thead>", "<tr>", *(f"<th>{cell}</th>" for cell in head), "</tr>"]
    lines += ["</thead>", "<tbody>"]
    for row in body:
        lines += ["<tr>", *(f"<td>{cell}</td>" for cell in row), "</tr>"]
    return "\n".join([*lines, "</tbody>", "</table>"])


def kinds(html):
    """Give the classes of each column's cells, without those of its head."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)[1:]
    columns = zip(*(re.findall(r'<td class="(\w+)"', row) for row in rows), strict=True)
    return [{*column} for column in columns]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("--sink", '<code class="whole">--sink</code>'),
        ("pkg(choices=5)", '<code class="whole">pkg(choices=5)</code>'),
        ("a = [1, 2]", '<code class="whole">a = [1, 2]</code>'),
        (
            "evenkey run --topic-count 3",
            '<code>evenkey run <span class="whole">--topic-count</span> 3</code>',
        ),
        (
            "spark.sql.spreadNullJoinKeys.enabled",
            "<code>spark.<wbr>sql.<wbr>spreadNullJoinKeys.<wbr>enabled</code>",
        ),
        (
            "zipf(z=1.4,keys=100000,start=10)",
            "<code>zipf(<wbr>z=<wbr>1.4,<wbr>keys=<wbr>100000,<wbr>start=<wbr>10)</code>",
        ),
        (
            "spark.windowGroupLimitThreshold",
            "<code>spark.<wbr>window<wbr>Group<wbr>Limit<wbr>Threshold</code>",
        ),
        (
            "DynamicDistributor(...).rehearse(loads)",
            "<code>DynamicDistributor(...).<wbr>rehearse(<wbr>loads)</code>",
        ),
        (
            "--a-very-long-option-of-a-command",
            '<code><span class="whole">--a</span>-very-long-option-of-a-command</code>',
        ),
        ("&quot;x&quot; &lt; y and so on to the end", None),
    ],
)
def test_where_code_breaks(code, shown):
    assert finished(f"<code>{code}</code>") == (shown or f"<code>{code}</code>")


def test_blocks_of_code_and_drawings_are_left_alone():
    text = "<pre><code>run --sink W = 10 ms</code></pre><svg><text>W = 10 ms</text></svg>"
    assert finished(text) == text


def test_numbers_stay_with_their_units():
    text = "<p>With <em>W</em> = 10 and n = -1, 5 % of 20 MB take 3 ms, 10 seconds</p>"
    assert finished(text) == (
        "<p>With <em>W</em>&nbsp;=&nbsp;10 and n&nbsp;=&nbsp;-1, 5&nbsp;% of 20&nbsp;MB take "
        "3&nbsp;ms, 10 seconds</p>"
    )


def test_columns_are_marked_by_their_longest_cell():
    wide = table(
        "n|a|name|what|more|all",
        f"1.5|x|{'b' * 20}|{'c' * 60}|{'d ' * 50}|{'e ' * 150}",
        "10,000 to 20,000|yes|b|c|d|e",
        "|||||",
    )
    expected = ["figures", "short", "short", "words", "prose", "long"]
    assert kinds(finished(wide)) == [{each} for each in expected]


def test_the_only_long_column_of_few_gets_more_width():
    html = finished(table("a|b", f"x|{'e ' * 150}"))
    assert '<td class="long alone">' in html
    assert "alone" not in finished(table("a|b", f"{'e ' * 150}|{'e ' * 150}"))


def test_a_cell_of_several_lines_counts_as_its_longest_line():
    assert kinds(finished(table("a", "<br>".join(["a short name"] * 4)))) == [{"short"}]


def test_a_column_of_names_has_its_own_class():
    names = "<code>--starting-offsets OFFSETS</code>|<code>first_name</code><br><code>second</code>"
    assert kinds(finished(table("a|b", names))) == [{"names"}, {"names"}]
    assert kinds(finished(table("a", "<code>first</code> and <code>second</code>"))) == [{"short"}]


def test_heads_of_narrow_columns_get_some_width():
    html = finished(table("median of the times of an epoch", "1.5"))
    assert '<th class="figures titled">' in html


def test_a_range_stays_whole_where_there_is_space():
    cell = '<td class="figures">1.5 <span class="whole">(1.2 to 1.9)</span></td>'
    assert cell in finished(table("a|b", "1.5 (1.2 to 1.9)|x"))
    many = finished(table("|".join("abcdefgh"), "|".join(["1.5 (1.2 to 1.9)"] * 8)))
    assert many.startswith('<table data-columns="many">')
    assert "whole" not in many


def test_tables_of_parameters_are_marked():
    html = (
        '<table><thead><tr><th>Name</th></tr></thead><tr class="doc-section-item"><td>x</td></tr>'
    )
    assert finished(f"{html}</table>").startswith('<table data-list="parameters">')


def test_pictures_lead_to_their_files():
    picture = '<img alt="a" src="a.png#phone" />'
    assert finished(picture) == f'<a class="picture" href="a.png#phone">{picture}</a>'
    for alone in (f'<a href="b">{picture}</a>', '<img src="data:image/png;base64,AA==" />'):
        assert finished(alone) == alone


def test_only_the_article_of_a_page_is_changed():
    page = '<nav>10 ms</nav><article class="a"><p>10 ms</p></article><footer>10 ms</footer>'
    changed = page.replace("<p>10 ms", "<p>10&nbsp;ms")
    assert on_post_page(page, page=None, config=None) == changed
