"""What mkdocstrings cannot read of our docstrings, written so that it can."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["PlainDocstrings"]

_EXAMPLE = re.compile(r"^([ ]*)>>> .*(?:\n\1(?=\S).*)*", re.MULTILINE)
_TOGETHER = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*(?:\n|\Z))+)", re.MULTILINE)


class PlainDocstrings(griffe.Extension):
    """Fence examples outside of their section, and part parameters that share one text.

    Of `old_share, teenage_share` griffe would give both the default of the first.
    """

    def on_instance(self, *, obj: griffe.Object, **_rest: Any) -> None:
        """Rewrite the docstring of what was read."""
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
