"""Rewrite the parts of our docstrings that mkdocstrings cannot read."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["PlainDocstrings"]

_EXAMPLE = re.compile(r"^([ ]*)>>> .*(?:\n\1(?=\S).*)*", re.MULTILINE)
_TOGETHER = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*(?:\n|\Z))+)", re.MULTILINE)


class PlainDocstrings(griffe.Extension):
    """Fences examples outside of "Examples", and splits parameters that share one text.

    For two parameters such as `old_share, teenage_share`, griffe would show the first default for
    both.
    """

    def on_instance(self, *, obj: griffe.Object, **_rest: Any) -> None:
        """Rewrite the docstring of an object that griffe has read."""
        if obj.docstring is not None:
            obj.docstring.value = _parted(_fenced(obj.docstring.value))


def _fenced(text: str) -> str:
    head, mark, rest = text.partition("\nExamples\n")
    head = _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", head)
    return head.replace("::\n\n", ":\n\n") + mark + rest


def _parted(text: str) -> str:
    def each_alone(match: re.Match[str]) -> str:
        said = match[2] if match[2].endswith("\n") else f"{match[2]}\n"
        return "".join(f"{name}\n{said}" for name in match[1].split(", "))

    return _TOGETHER.sub(each_alone, text)
