"""The mutants of a source file: all small wrong changes of one place in it."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Mutant", "mutants"]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_TEXTS = {"message", "problem", "reason"}
"""Names of variables whose text only people read."""
_LOGS = {"_log", "log", "logger", "logging", "warnings"}


@dataclass(frozen=True)
class Mutant:
    """A change at one place of a file.

    Parameters
    ----------
    path
        Path of the file, as the caller gave it.
    line, at
        Number and text of the line where the change begins.
    kind
        Kind of change, such as ``comparison``.
    start, stop
        Range of bytes of the file that is replaced.
    before, after
        The replaced code and its replacement.
    digest
        Digest of the file, so that a result is only used for the same version of it.
    """

    path: str
    line: int
    at: str
    kind: str
    start: int
    stop: int
    before: str
    after: str
    digest: str

    @property
    def name(self) -> str:
        """Identifier that differs from those of all other mutants, of any version of the file."""
        return f"{self.path}:{self.line}:{self.start}:{self.kind}:{self.after}:{self.digest}"

    @property
    def change(self) -> tuple[str, ...]:
        """The change without the line number, which may differ in another version of the file."""
        return self.path, self.at, self.kind, self.before, self.after

    def apply(self, source: bytes) -> bytes:
        """Return the content of the file with the change."""
        return source[: self.start] + self.after.encode() + source[self.stop :]


def mutants(path: str, source: bytes) -> list[Mutant]:
    r"""List all mutants of a file, in order of their position.

    Parameters
    ----------
    path
        Path of the file, for `Mutant.path`.
    source
        Content of the file.

    Examples
    --------
    >>> [each.after for each in mutants("one.py", b"def f(a):\n    return a < 3\n")]
    ['return None', '(a <= 3)', '(4)']
    """
    starts, lines = [0], source.splitlines(keepends=True)
    for line in lines:
        starts.append(starts[-1] + len(line))
    digest = hashlib.sha256(source).hexdigest()[:12]
    found = []
    for kind, node, after in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:stop].decode()
        at = lines[node.lineno - 1].decode().strip()
        found.append(Mutant(path, node.lineno, at, kind, start, stop, before, after, digest))
    return sorted(found, key=lambda each: (each.start, -each.stop, each.kind))


_Change = tuple[str, ast.expr | ast.stmt, str]


def _changes(node: ast.AST, *, inside: bool = False) -> Iterator[_Change]:
    """Yield all changes of a tree; `inside` a function, operators act on values, not on types."""
    if _is_spared(node):
        return
    inside = inside or isinstance(node, ast.FunctionDef)
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)
    elif isinstance(node, ast.expr):
        yield from _of_expression(node, inside=inside)
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child, inside=inside)


def _is_spared(node: ast.AST) -> bool:
    """Return whether a node has no effect on what the program computes."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            spared = True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.keyword(arg="strict"):
            spared = True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")) | ast.Expr(value=ast.Constant()):
            spared = True
        case ast.Assign(targets=[ast.Name(id=name)]):
            spared = name in _TEXTS or name == "__all__"
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            spared = name in _LOGS
        case ast.Expr(value=ast.Call() as call):
            spared = _is_spared(call)
        case _:
            spared = False
    return spared


def _of_statement(node: ast.stmt) -> Iterator[_Change]:
    match node:
        case ast.Return(value=ast.expr() as value):
            if not (isinstance(value, ast.Constant) and value.value is None):
                yield "return none", node, "return None"
        case ast.Expr(value=ast.Call()):
            yield "statement deleted", node, "pass"
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            if isinstance(target, ast.Attribute | ast.Subscript):
                yield "statement deleted", node, "pass"
        case ast.If(test=test) | ast.While(test=test):
            if not isinstance(test, ast.Constant) and not _flips(node, test):
                yield "condition negated", test, f"(not ({ast.unparse(test)}))"


def _flips(node: ast.stmt, test: ast.expr) -> bool:
    """Return whether the mutant of the comparison already negates the condition."""
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return False
    return isinstance(node, ast.While) or isinstance(
        test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn
    )


def _of_expression(node: ast.expr, *, inside: bool) -> Iterator[_Change]:
    match node:
        case ast.Compare(left, ops, comparators):
            for place, kind in enumerate(ops):
                flipped = [*ops[:place], _COMPARISONS[type(kind)](), *ops[place + 1 :]]
                yield _made("comparison", node, ast.Compare(left, flipped, comparators))
        case ast.BinOp(left, kind, right) if type(kind) in _ARITHMETIC and inside:
            yield _made("arithmetic", node, ast.BinOp(left, _ARITHMETIC[type(kind)](), right))
        case ast.BoolOp(kind, values):
            other = ast.Or() if isinstance(kind, ast.And) else ast.And()
            yield _made("and or", node, ast.BoolOp(other, values))
        case ast.UnaryOp(ast.Not(), operand):
            yield _made("not dropped", node, operand)
        case ast.IfExp(test, body, orelse):
            negated = ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
            yield _made("condition negated", node, negated)
        case ast.Constant(value=bool() as value):
            yield _made("constant", node, ast.Constant(not value))
        case ast.Constant(value=int() | float() as number):
            yield _made("constant", node, ast.Constant(number + 1))


def _made(kind: str, node: ast.expr, other: ast.expr) -> _Change:
    return kind, node, f"({ast.unparse(other)})"
