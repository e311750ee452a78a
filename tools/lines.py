"""Count the lines of the package by subpackage: ``python -m tools.lines [DIRECTORY]``.

It counts all lines, and lines of code: those that are not blank, comments or docstrings.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def lines_of_code(source: str) -> int:
    r"""Count the lines of code in the source of a file.

    Examples
    --------
    >>> lines_of_code("x = 1  # one\n\n# no code\n")
    1
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not node.body:
            continue
        if ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines -= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


def main() -> None:
    """Print a table of subpackages, the largest first."""
    package = Path(sys.argv[1] if len(sys.argv) > 1 else "src/evenkey")
    files, lines, code = Counter[str](), Counter[str](), Counter[str]()
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).parts
        name = "/".join(parts[:2][: len(parts) - 1]) or "(top)"
        source = file.read_text("utf-8")
        for key in (name, "all"):
            files[key] += 1
            lines[key] += source.count("\n")
            code[key] += lines_of_code(source)
    print(f"{'subpackage':24}{'files':>8}{'lines':>8}{'code':>8}")  # noqa: T201 - what it is for
    for name, count in lines.most_common():
        print(f"{name:24}{files[name]:8,}{count:8,}{code[name]:8,}")  # noqa: T201 - as above


if __name__ == "__main__":
    main()
