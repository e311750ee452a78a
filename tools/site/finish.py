"""Finish the HTML of a page: where its lines break, how wide columns are, links of pictures.

mkdocs calls `on_post_page` (`hooks` in mkdocs.yml), in an environment that has none of our modules.
"""

from __future__ import annotations

import html
import re
from typing import Any

__all__ = ["finished", "on_post_page"]

WHOLE = 24
"""So many characters of code without a space stay in one line."""
_WHOLE_WITH_SPACES = 16
_NAMES = 36
"""Names of at most so many characters stay in one line if a column has nothing else."""
_SHORT, _WORDS, _PROSE = 20, 60, 200
"""Up to so many characters in each cell of a column: short, words, prose; above: long."""

_FEW, _MANY = 4, 8
"""A table of few columns has space for a long one; that of many gets less between them."""

_ARTICLE = re.compile(r"<article\b.*?</article>", re.DOTALL)
_PART = re.compile(
    r"(?P<kept><pre\b.*?</pre>|<(?P<tag>script|style|svg|math)\b.*?</(?P=tag)>|<!--.*?-->)"
    r"|<code(?P<attributes>[^>]*)>(?P<code>.*?)</code>"
    r"|(?P<picture><img\b[^>]*?\bsrc=\"(?P<source>[^\"]+)\"[^>]*>)"
    r"|(?P<open><a\b[^>]*>)|(?P<close></a>)"
    r"|(?P<other><[^>]*>)"
    r"|(?P<text>[^<]+)",
    re.DOTALL,
)
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_ROW = re.compile(r"<tr\b[^>]*>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<(?P<tag>t[hd])\b(?P<attributes>[^>]*)>(?P<content>.*?)</(?P=tag)>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_FIGURE = re.compile(r"[^\w\s]*\d[\d.,\N{NO-BREAK SPACE}]*(?:\s?\S{1,8})?(?: to \S+)?")

_NAME = re.compile(r"\s*<code\b[^>]*>(?:(?!</code>).)*</code>\s*", re.DOTALL)
_UNIT = re.compile(r"(?<=\d) (?=%|(?:ms|s|min|h|[kKMGT]i?B|[kMG]|million|billion)\b)")
_EQUALS = re.compile(r" = (?=[-\d])")

_OPTION = re.compile(r"--?\w+(?=-)")
_SIGN = re.compile(r"(?:[_,(=/|:]|\.(?!\d))(?=[\w\"'*\[{&])")
_LONG_NAME = re.compile(r"[A-Za-z]{21,}")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RANGE = re.compile(r"\([^()<>]*\)")
_BREAK = "<wbr>"


def on_post_page(output: str, **_rest: Any) -> str:
    """Finish a page; called by mkdocs."""
    return _ARTICLE.sub(lambda article: finished(article[0]), output)


def finished(article: str) -> str:
    """Return the HTML of an article with its last marks.

    Options such as ``--sink`` and other short code stay in one line, and long names break after
    their signs. A number stays with its unit. The cells of a table's column have a class by the
    longest of them, for which the style sheet has widths. A picture links to its file.

    Parameters
    ----------
    article
        HTML that Markdown and mkdocstrings made. Blocks of code are not changed.

    Examples
    --------
    >>> finished("<p><code>--sink</code> takes 10 ms</p>")
    '<p><code class="whole">--sink</code> takes 10&nbsp;ms</p>'
    """
    inside = 0
    parts = []
    for part in _PART.finditer(article):
        inside += (part["open"] is not None) - (part["close"] is not None)
        if part["code"] is not None:
            parts.append(_code(part["attributes"], part["code"]))
        elif part["picture"] and not inside and not part["source"].startswith("data:"):
            parts.append(f'<a class="picture" href="{part["source"]}">{part["picture"]}</a>')
        elif part["text"]:
            parts.append(_UNIT.sub("&nbsp;", _EQUALS.sub("&nbsp;=&nbsp;", part["text"])))
        else:
            parts.append(part[0])
    return _TABLE.sub(lambda table: _table(table[0]), "".join(parts))


def _code(attributes: str, content: str) -> str:
    said = _said(content)
    whole = len(said) <= (_WHOLE_WITH_SPACES if " " in said else WHOLE)
    if whole and "class=" not in attributes:
        return f'<code class="whole"{attributes}>{content}</code>'
    broken = re.sub(
        r"(?P<tag><[^>]*>)|(?P<word>[^\s<]+)",
        lambda each: each["tag"] or _word(each["word"]),
        content,
    )
    return f"<code{attributes}>{broken}</code>"


def _word(word: str) -> str:
    """Keep a word of code in one line, or break it after its signs if it is long."""
    if len(html.unescape(word)) <= WHOLE:
        return f'<span class="whole">{word}</span>' if re.search(r"[-/?]\S", word) else word
    pieces = _SIGN.sub(lambda sign: f"{sign[0]}{_BREAK}", word).split(_BREAK)
    pieces = [_LONG_NAME.sub(lambda name: _HUMP.sub(_BREAK, name[0]), each) for each in pieces]
    pieces[0] = _OPTION.sub(lambda option: f'<span class="whole">{option[0]}</span>', pieces[0], 1)
    return _BREAK.join(pieces)


def _table(table: str) -> str:
    rows = [[*_CELL.finditer(row)] for row in _ROW.findall(table)]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or "span=" in table:
        return table
    count = widths.pop()
    kinds = [_kind([row[column]["content"] for row in rows[1:]]) for column in range(count)]
    if kinds.count("long") == 1 and count <= _FEW:
        kinds[kinds.index("long")] += " alone"
    cells = iter([kind for _ in rows for kind in kinds])
    marked = _CELL.sub(lambda cell: _marked(cell, next(cells), many=count >= _MANY), table)
    kind = ' data-list="parameters"' if 'class="doc-section-item"' in table else ""
    kind += ' data-columns="many"' if count >= _MANY else ""
    return marked.replace("<table>", f"<table{kind}>", 1)


def _marked(cell: re.Match[str], kind: str, *, many: bool) -> str:
    tag, attributes, content = cell["tag"], cell["attributes"], cell["content"]
    if "class=" in attributes:
        return cell[0]
    if kind == "figures" and tag == "td" and not many:
        content = _RANGE.sub(r'<span class="whole">\g<0></span>', content)
    if tag == "th" and len(_said(content)) > _SHORT:
        kind += " titled"
    return f'<{tag} class="{kind}"{attributes}>{content}</{tag}>'


def _kind(cells: list[str]) -> str:
    """Return the class of a column: numbers, names, or by the length of its longest line."""
    said = [_said(cell) for cell in cells]
    lines = [line.strip() for cell in said for line in cell.split("\n")]
    longest = max(map(len, lines), default=0)
    if any(lines) and all(_FIGURE.fullmatch(line) for line in lines if line):
        return "figures"
    names = [line for cell in cells for line in re.split(r"<br ?/?>", cell) if line.strip()]
    if names and longest <= _NAMES and all(map(_NAME.fullmatch, names)):
        return "names"
    if longest <= _SHORT:
        return "short"
    return "words" if longest <= _WORDS else "prose" if longest <= _PROSE else "long"


def _said(content: str) -> str:
    """Return the text of HTML, with a line per ``<br>``."""
    lines = re.split(r"<br ?/?>", content)
    return "\n".join(" ".join(html.unescape(_TAG.sub("", line)).split()) for line in lines)
