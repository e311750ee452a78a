"""Collect the error messages of the package: ``python -m tools.messages``.

A message is the text of a ``raise``, or the text that is assigned to a variable ``message``. Each
is listed with its file and line; values in it are shown as their expressions in braces.
`tests/test_messages.py` checks all of them and writes them to ``build/messages.txt``, so that a
person can read them all.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "evenkey"


class Message(NamedTuple):
    """A message, with its file and line."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def messages(package: Path = PACKAGE) -> list[Message]:
    """List all messages, by file and line."""
    found: list[Message] = []
    for path in sorted(package.rglob("*.py")):
        of_file = sorted(set(_of_tree(ast.parse(path.read_text(encoding="utf-8")))))
        file = path.relative_to(package).as_posix()
        found += (Message(file, line, text) for line, text in of_file)
    return found


def _of_tree(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        value: ast.expr | None = None
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            value = node.exc.args[0]
        elif isinstance(node, ast.Assign | ast.AugAssign):
            name = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            value = node.value if ast.unparse(name) == "message" else None
        if value is not None:
            yield from ((value.lineno, text) for text in _texts(value))


def _texts(value: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression can have; none if it contains no text."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(map(_part, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield "".join(next(_texts(each), f"{{{ast.unparse(each)}}}") for each in (left, right))
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body)
            yield from _texts(other)


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        return f"{{{ast.unparse(part.value)}}}"
    return str(part.value) if isinstance(part, ast.Constant) else ""


def listing(found: list[Message]) -> str:
    """Return messages as text, one per line."""
    return "".join(f"{each}\n" for each in found)


if __name__ == "__main__":
    sys.stdout.write(listing(messages()))
