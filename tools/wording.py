"""Find words that only this project uses: ``python -m tools.wording [--counts]``.

`tools/wording.toml` lists each word as a pattern, with the words to write instead. An ``allowed``
pattern matches text in which the word has its ordinary sense, or is a term of Spark or a paper; a
match that overlaps such text does not count. ``allowed`` at the top of the file applies to every
word. The search covers the package with its help texts, tests, docs, tools, examples and
benchmarks. A space in a pattern matches any white space; an underscore ends a word, so names of
functions and variables are searched too.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PLACES = ("src", "tests", "docs", "tools", "examples", "benchmarks", "*.md")
LEFT_OUT = ("docs/decisions/archive/", "tools/wording.", "tests/test_wording.py")
SUFFIXES = (".py", ".md", ".toml", ".html", ".j2", ".yml")


@dataclass(frozen=True)
class Word:
    """A word to avoid.

    Parameters
    ----------
    name
        The word's pattern, as written in the list.
    instead
        The words to write instead.
    pattern
        Compiled pattern that finds the word, in upper and lower case.
    allowed
        Compiled pattern of the text in which the word is allowed. None: it is never allowed.
    """

    name: str
    instead: str
    pattern: re.Pattern[str]
    allowed: re.Pattern[str] | None

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text where the word is not allowed.

        Examples
        --------
        >>> word = made("levels?", "balance", ["log level"])
        >>> [match.start() for match in word.matches("the log level, a level load")]
        [17]
        """
        found = [*self.pattern.finditer(text)]
        spared = [*self.allowed.finditer(text)] if found and self.allowed else []
        for match in found:
            if not any(
                each.start() < match.end() and match.start() < each.end() for each in spared
            ):
                yield match


def made(name: str, instead: str, allowed: list[str]) -> Word:
    """Compile the patterns of a word.

    Examples
    --------
    >>> bool(made("told", "reported", []).pattern.search("what_is_told"))
    True
    """
    either = "|".join(map(_spaced, allowed))
    return Word(
        name,
        instead,
        re.compile(rf"(?<![a-z])(?:{_spaced(name)})(?![a-z])", re.IGNORECASE),
        re.compile(either, re.IGNORECASE) if allowed else None,
    )


def _spaced(pattern: str) -> str:
    return pattern.replace(" ", r"(?:\s|#)+")


def read_words() -> list[Word]:
    """Read the list of words from `tools/wording.toml`."""
    listed = tomllib.loads((ROOT / "tools/wording.toml").read_text("utf-8"))
    return [
        made(
            each["pattern"],
            each["instead"],
            [one["pattern"] for one in [*listed["allowed"], *each.get("allowed", ())]],
        )
        for each in listed["word"]
    ]


def searched() -> list[Path]:
    """Return the files to search: those that git tracks."""
    command = ["git", "ls-files", *PLACES]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603
    return [
        ROOT / name
        for name in names.splitlines()
        if name.endswith(SUFFIXES) and not name.startswith(LEFT_OUT) and (ROOT / name).exists()
    ]


def main(options: list[str]) -> int:
    """Print each match and the number of matches of each word; return the exit code."""
    words, counts = read_words(), Counter[str]()
    for file in searched():
        text = file.read_text("utf-8")
        for word in words:
            for match in word.matches(text):
                counts[word.name] += 1
                if "--counts" not in options:
                    line = text.count("\n", 0, match.start()) + 1
                    shown = " ".join(match[0].split())
                    print(f"{file.relative_to(ROOT)}:{line}: {shown!r}: write {word.instead}")
    for word in words:
        print(f"{counts[word.name]:6}  {word.name}")
    print(f"{counts.total():6}  in all")
    return int(counts.total() > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
