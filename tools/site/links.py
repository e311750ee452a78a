"""Rewrite the links of a file of the repository for its page on the site."""

from __future__ import annotations

import posixpath
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["relinked"]

_FENCE = re.compile(
    r"^(?P<margin> *)(?P<fence>```+).*?^(?P=margin)(?P=fence) *$", re.MULTILINE | re.DOTALL
)
_PART = re.compile(
    r"\[(?P<label>[^\[\]]*)\]\((?P<target>[^)\s]+)\)"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?P<code>(?:(?!\n\n).)+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?P<decisions>\b[Dd]ecisions?)(?P<numbers>(?:(?:,| and| to| or)?\s\d{3}\b)+)"
    r"|(?<=\])\((?P<rest>[^)\s]+)\)",  # of a label with brackets
    re.DOTALL,
)
_ELSEWHERE = re.compile(r"[a-z]+:")
_NUMBER = re.compile(r"\b\d{3}\b")
_RECORD = re.compile(r"docs/decisions/(?:archive/)?(?P<number>\d{3})-[^/]*\.md")
_COUNTED = re.compile(r"\b[Dd]ecisions?(?:\s+(?:\[[^\]]*\]\([^)]*\)|\d+)(?:,| and| to| or))*\s+$")
"""Text before a number that says already of what it is the number."""
_SENTENCE = re.compile(r"(?:[.!?]|\n\n|^)\s*$")
_KEEPS_NAMES = re.compile(r"CONTRIBUTING\.md|docs/decisions/.*")
"""Pages that name files to edit: their names of files stay, as links."""
_NONE: Mapping[str, str] = MappingProxyType({})


def relinked(
    text: str,
    file: str,
    homes: Mapping[str, str],
    titles: Mapping[str, str] = _NONE,
    names: Mapping[str, str] = _NONE,
) -> str:
    """Replace links to files of the repository by links to pages of the site.

    A label that is the name of the linked file becomes the title of the page, and the number of a
    decision becomes "decision" and the number. Names of pages in code font, the numbers of
    decisions and public names become links.

    Parameters
    ----------
    text
        Markdown of the file. Fenced code is not changed.
    file
        Path of the file, relative to the repository's root.
    homes
        Maps files and directories, relative to that root, to their paths on the site.
    titles
        Maps files to the titles of their pages.
    names
        Maps full names, such as ``evenkey.spark.route``, to their places on the site.

    Raises
    ------
    ValueError
        The target of a link is not on the site.

    Examples
    --------
    >>> homes = {"README.md": "index.md", "docs/joins.md": "joins.md"}
    >>> relinked("[joins](docs/joins.md#state), [Spark](https://s.org)", "README.md", homes)
    '[joins](joins.md#state), [Spark](https://s.org)'
    >>> titles = {"docs/joins.md": "Join a stream"}
    >>> relinked("[docs/joins.md](docs/joins.md), `docs/joins.md`", "README.md", homes, titles)
    '[Join a stream](joins.md), [Join a stream](joins.md)'
    >>> relinked("[code](src/a.py)", "README.md", homes)
    Traceback (most recent call last):
    ValueError: README.md links to src/a.py, which is not on the site: write it as code
    """
    page = _Page(file, homes, titles, names)
    done, parts = 0, []
    for fence in _FENCE.finditer(text):
        parts += [_PART.sub(page.part, text[done : fence.start()]), fence[0]]
        done = fence.end()
    return "".join([*parts, _PART.sub(page.part, text[done:])])


class _Page:
    """Rewrites the parts of one page."""

    def __init__(
        self,
        file: str,
        homes: Mapping[str, str],
        titles: Mapping[str, str],
        names: Mapping[str, str],
    ) -> None:
        self._file, self._homes, self._titles, self._names = file, homes, titles, names
        self._records = {
            found["number"]: each for each in homes if (found := _RECORD.fullmatch(each))
        }

    def part(self, found: re.Match[str]) -> str:
        """Return the new text of a link, of code, or of numbers of decisions."""
        if found["target"]:
            return f"[{self._label(found)}]({self._moved(found['target'])})"
        if found["rest"]:
            return f"({self._moved(found['rest'])})"
        if found.string[found.string.rfind("\n", 0, found.start()) + 1 :].startswith("#"):
            return found[0]  # headings have no links but those that are written
        if found["code"]:
            return self._code(found[0], found["code"])
        if len(_NUMBER.findall(found["numbers"])) == 1:
            return self._record(found["numbers"].strip(), found[0])
        return found["decisions"] + _NUMBER.sub(
            lambda number: self._record(number[0], number[0]), found["numbers"]
        )

    def _label(self, found: re.Match[str]) -> str:
        label, path = found["label"], found["target"].partition("#")[0]
        file = self._path(path)
        if label.strip("`") in (path, posixpath.basename(path)) and file in self._titles:
            return self._titles[file]
        before = found.string[: found.start()]
        alone = before.endswith("| ") and found.string[found.end() :].startswith(" |")
        bare = _NUMBER.fullmatch(label) and _RECORD.fullmatch(file)
        if not bare or alone or _COUNTED.search(before[-400:]):
            return label
        return f"{'Decision' if _SENTENCE.search(before) else 'decision'} {label}"

    def _moved(self, target: str) -> str:
        path, mark, anchor = target.partition("#")
        if not path or _ELSEWHERE.match(path):
            return target
        file = self._path(path)
        if file not in self._homes:
            message = f"{self._file} links to {path}, which is not on the site: write it as code"
            raise ValueError(message)
        home = self._homes[file]
        return f"{self._from_here(home.partition('#')[0] if anchor else home)}{mark}{anchor}"

    def _code(self, shown: str, code: str) -> str:
        if code in self._names:
            return f"[{shown}]({self._from_here(self._names[code])})"
        files = [file for file in (code, self._path(code)) if file in self._homes and "." in code]
        if not files or self._homes[files[0]] == self._homes[self._file]:
            return shown
        keeps = _KEEPS_NAMES.fullmatch(self._file) or files[0] not in self._titles
        label = shown if keeps else self._titles[files[0]]
        return f"[{label}]({self._from_here(self._homes[files[0]])})"

    def _record(self, number: str, shown: str) -> str:
        file = self._records.get(number)
        if file is None or file == self._file:
            return shown
        return f"[{shown}]({self._from_here(self._homes[file])})"

    def _path(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(self._file), path))

    def _from_here(self, home: str) -> str:
        return posixpath.relpath(home, posixpath.dirname(self._homes[self._file]) or ".")
