"""Rewrite the parts of our docstrings that mkdocstrings cannot read, and set links in them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import griffe

__all__ = ["PlainDocstrings"]

ROOT = Path(__file__).parents[2]
_NAMES = ROOT / "build" / "site-pages" / "api" / "index.md"
"""The list of all public names, with the places where they are described."""

_EXAMPLE = re.compile(r"^([ ]*)>>> .*(?:\n\1(?=\S).*)*", re.MULTILINE)
_TOGETHER = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*(?:\n|\Z))+)", re.MULTILINE)
_LISTED = re.compile(r"\[`(\w+)`\]\((evenkey[\w.]*)\.md#([\w.]+)\)")
_CODE = re.compile(r"(?<!`)(`{1,2})([\w./-]+)\1(?!`)")
_DECISION = re.compile(r"\b[Dd]ecision\s(\d{3})\b")


class PlainDocstrings(griffe.Extension):
    """Fences examples outside of "Examples", splits parameters that share one text, sets links.

    For two parameters such as `old_share, teenage_share`, griffe would show the first default for
    both. The second gets its own row, which refers to the first.
    """

    def on_instance(self, *, obj: griffe.Object, **_rest: Any) -> None:
        """Rewrite the docstring of an object that griffe has read."""
        if obj.docstring is not None:
            obj.docstring.value = _linked(_parted(_fenced(obj.docstring.value)))


def _fenced(text: str) -> str:
    head, mark, rest = text.partition("\nExamples\n")
    head = _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", head)
    return head.replace("::\n\n", ":\n\n") + mark + rest


def _parted(text: str) -> str:
    def each_alone(match: re.Match[str]) -> str:
        first, *others = match[1].split(", ")
        said = match[2] if match[2].endswith("\n") else f"{match[2]}\n"
        return f"{first}\n{said}" + "".join(f"{name}\n    See `{first}`.\n" for name in others)

    return _TOGETHER.sub(each_alone, text)


def _linked(text: str) -> str:
    """Link decisions, pages of docs/ and public names; all pages of modules are in api/."""
    text = _DECISION.sub(lambda found: _link(found[0], _record(found[1])), text)
    return _CODE.sub(_linked_code, text)


def _linked_code(found: re.Match[str]) -> str:
    page = ROOT / found[2]
    if found[2].startswith("docs/") and page.is_file():
        title = page.read_text("utf-8").partition("# ")[2].partition("\n")[0]
        return _link(title, f"../{page.stem}.html")
    return _link(found[0], _places().get(found[2]))


def _link(label: str, target: str | None) -> str:
    return f"[{label}]({target})" if target else label


def _record(number: str) -> str | None:
    folder = ROOT / "docs"
    found = next((folder / "decisions").rglob(f"{number}-*.md"), None)
    return found and f"../{found.relative_to(folder).with_suffix('.html').as_posix()}"


@cache
def _places() -> dict[str, str]:
    listed = _LISTED.findall(_NAMES.read_text("utf-8")) if _NAMES.is_file() else []
    modules = {module: f"{module}.html" for _, module, _ in listed if module != "evenkey"}
    return modules | {f"{module}.{name}": f"{module}.html#{path}" for name, module, path in listed}
