"""Measure how much code a new contributor has to learn: ``python -m tools.structure [DIRECTORY]``.

It reads the source, and imports and runs nothing. It counts:

files
    Python files of the package.
lines of code
    Lines that are not blank, comments or docstrings (`tools.lines`), at a line length of 100.
    Code that was moved out of ``src`` but is still needed counts too: name its directories
    after the first one.
largest folder
    The largest number of Python files in one folder, without its subfolders.
names for other subpackages
    Names that the ``__init__`` of a subpackage imports for other subpackages without listing them
    in ``__all__``.
isinstance on groupings
    Calls of ``isinstance`` outside of ``groupings`` that name a class of a grouping.
ways
    The static chain of calls from a function, in the order of the source, each function once. A
    call is followed if it is a call of a function, of a class (to its ``__init__``), or of a method
    on ``self`` or on a value whose class follows from an annotation or a call of the class. A
    *stop* is a change of the chain to another file; a *return* is a stop in a file that the chain
    has visited before. A way ends at the methods of a protocol. The longest way from a method of a
    class that implements such a protocol is counted as the *longest case*.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tools.lines import lines_of_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGE = "evenkey"
WAYS = {
    "groupBy": ("evenkey.spark", "groupBy"),
    "aggregate": ("evenkey.spark", "aggregate"),
    "join": ("evenkey.spark", "join"),
    "a run": ("evenkey.applications", "run"),
}
GROUPINGS = "evenkey.groupings"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """A module, and the functions, classes and imports that its names refer to.

    Parameters
    ----------
    name
        Full name, with dots.
    tree
        Syntax tree of the source.
    """

    name: str
    tree: ast.Module
    names: dict[str, ast.AST] = field(default_factory=dict)
    imported: dict[str, tuple[str, str | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """A function or class, and the module that defines it."""

    module: str
    node: ast.AST
    owner: ast.ClassDef | None = None


class Package:
    """All modules of a directory, by name.

    Parameters
    ----------
    directory
        Directory that contains the folder of the package.
    """

    def __init__(self, directory: Path) -> None:
        self.files = sorted((directory / PACKAGE).rglob("*.py"))
        self.modules = {}
        for file in self.files:
            parts = file.relative_to(directory).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = _read(name, file)

    def find(self, module: str, name: str) -> Found | None:
        """Find the function or class that a name of a module refers to, through all imports."""
        for _ in range(20):
            there = self.modules.get(module)
            if there is None:
                return None
            if name in there.names:
                return Found(module, there.names[name])
            if name not in there.imported:
                return None
            module, other = there.imported[name]
            if other is None:
                return None
            name = other
        return None

    def method(self, found: Found, name: str) -> Found | None:
        """Find a method of a class or of its base classes."""
        if not isinstance(found.node, ast.ClassDef):
            return None
        for each in found.node.body:
            if isinstance(each, Function) and each.name == name:
                return Found(found.module, each, found.node)
        for base in found.node.bases:
            name_of_base = _last_name(base)
            above = self.find(found.module, name_of_base) if name_of_base else None
            method = self.method(above, name) if above is not None else None
            if method is not None:
                return method
        return None


def _read(name: str, file: Path) -> Module:
    module = Module(name, ast.parse(file.read_text("utf-8")))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module.imported[alias.asname or alias.name] = (node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                module.imported[alias.asname or alias.name] = (alias.name, None)
    for node in module.tree.body:
        if isinstance(node, Function | ast.ClassDef):
            module.names[node.name] = node
    _add_late_names(module)
    return module


def _add_late_names(module: Module) -> None:
    """Add the names that a package imports lazily, from the table in older commits."""
    for node in ast.walk(module.tree):
        if not (isinstance(node, ast.Call) and _last_name(node.func) == "late"):
            continue
        for table in node.args:
            if isinstance(table, ast.Dict):
                for name, home in ast.literal_eval(table).items():
                    module.imported.setdefault(name, (home, name))


def _last_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    return None


class _Chain:
    """The functions that a function calls, directly and indirectly, in the order of the source."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._seen: set[ast.AST] = set()
        self.modules: list[str] = []
        self.protocols: list[Found] = []

    def follow(self, found: Found | None) -> None:
        if found is not None and isinstance(found.node, ast.ClassDef):
            for name in ("__new__", "__init__", "__post_init__"):
                self.follow(self._package.method(found, name))
            return
        if found is None or found.node in self._seen or not isinstance(found.node, Function):
            return
        self._seen.add(found.node)
        self.modules.append(found.module)
        owner = found.owner
        if owner is not None and _is_protocol(owner):
            if owner not in [each.node for each in self.protocols]:
                self.protocols.append(Found(found.module, owner))
            return
        kinds = dict(_annotated(found.node))
        for node in _in_order(found.node):
            if isinstance(node, ast.Assign | ast.AnnAssign):
                kinds |= _assigned(node)
            if isinstance(node, ast.Call):
                self.follow(self._called(node.func, found, kinds))

    def _called(self, called: ast.expr, within: Found, kinds: dict[str, str]) -> Found | None:
        if isinstance(called, ast.Name):
            return self._package.find(within.module, called.id)
        if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
            return None
        value = called.value.id
        if value in {"self", "cls"} and within.owner is not None:
            return self._package.method(Found(within.module, within.owner), called.attr)
        imported = self._package.modules[within.module].imported.get(value)
        if imported is not None:
            place = ".".join(part for part in imported if part)
            if place in self._package.modules:
                return self._package.find(place, called.attr)
        kind = kinds.get(value, value)
        of = self._package.find(within.module, kind)
        return None if of is None else self._package.method(of, called.attr)


def _annotated(function: Function) -> Iterator[tuple[str, str]]:
    for argument in [*function.args.args, *function.args.kwonlyargs]:
        kind = _last_name(argument.annotation) if argument.annotation else None
        if kind:
            yield argument.arg, kind


def _assigned(node: ast.Assign | ast.AnnAssign) -> dict[str, str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    kind = _last_name(node.annotation) if isinstance(node, ast.AnnAssign) else None
    if kind is None and isinstance(node.value, ast.Call):
        kind = _last_name(node.value.func)
    return {each.id: kind for each in targets if kind and isinstance(each, ast.Name)}


def _in_order(function: Function) -> list[ast.stmt | ast.expr]:
    """Return the nodes of a body in the order of the source; arguments come before their call."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    placed = [node for node in nodes if isinstance(node, ast.stmt | ast.expr)]
    return sorted(placed, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))


def way(package: Package, module: str, name: str) -> list[str]:
    """Return the modules that the chain of calls from a function enters, in order."""
    chain = _Chain(package)
    chain.follow(package.find(module, name))
    return _stops(chain.modules)


def cases(package: Package, protocol: Found) -> Iterator[tuple[str, Found]]:
    """Yield the methods of all classes that define every method of a protocol, by class.

    Only classes in the subpackage of the protocol are compared, such as ``evenkey.spark``.
    """
    wanted = {*_methods(protocol.node)}
    for name, module in package.modules.items():
        if name.split(".")[:2] != protocol.module.split(".")[:2]:
            continue
        for node in module.names.values():
            own = _methods(node)
            if isinstance(node, ast.ClassDef) and not _is_protocol(node) and wanted <= {*own}:
                yield from ((node.name, Found(name, own[each], node)) for each in sorted(wanted))


def _methods(node: ast.AST) -> dict[str, Function]:
    """Return the methods of a class by name, without properties."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    functions = [each for each in body if isinstance(each, Function)]
    return {each.name: each for each in functions if not each.decorator_list}


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(_last_name(each) == "Protocol" for each in node.bases)


def longest_case(package: Package, module: str, name: str) -> list[str]:
    """Return the longest way from a case of a protocol at which a way ends, as a line of text."""
    chain = _Chain(package)
    chain.follow(package.find(module, name))
    ways = []
    for protocol in chain.protocols:
        for kind, method in cases(package, protocol):
            of_case = _Chain(package)
            of_case.follow(method)
            ways.append((*_length(of_case.modules), kind))
    return [
        f"  longest case               {kind}: {stops} stops, {returns} returns"
        for stops, returns, kind in sorted(ways)[-1:]
    ]


def _length(modules: list[str]) -> tuple[int, int]:
    """Return the numbers of stops and returns of a chain."""
    stops = _stops(modules)
    return len(stops), len(stops) - len(set(stops))


def _stops(modules: list[str]) -> list[str]:
    return [
        each for number, each in enumerate(modules) if number == 0 or each != modules[number - 1]
    ]


def names_for_others(package: Package) -> Counter[str]:
    """Count the names that each subpackage offers to others besides its public ones."""
    counts: Counter[str] = Counter()
    folders = {name.rpartition(".")[0] for name in package.modules}
    for name in folders & package.modules.keys():
        module = package.modules[name]
        public: set[str] = set()
        for node in module.tree.body:
            if isinstance(node, ast.Assign) and _last_name(node.targets[0]) == "__all__":
                public = set(ast.literal_eval(node.value))
        given = {
            each
            for each, (home, what) in module.imported.items()
            if what is not None and home.startswith(f"{name}.")
        }
        counts[name] = len(given - public)
    return counts


def checks_of_groupings(package: Package) -> int:
    """Count calls of `isinstance` outside of ``groupings`` that name the class of a grouping."""
    kinds = {
        node.name
        for name, module in package.modules.items()
        if name.startswith(GROUPINGS)
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Grouping")
    } - {"Grouping"}
    return sum(
        any(_last_name(part) in kinds for part in ast.walk(node.args[1]))
        for name, module in package.modules.items()
        if not name.startswith(GROUPINGS)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _last_name(node.func) == "isinstance"
    )


def report(directory: Path, others: Sequence[Path] = ()) -> str:
    """Return all counts as text, one per line."""
    package = Package(directory)
    files = [*package.files, *(file for other in others for file in other.rglob("*.py"))]
    code = sum(lines_of_code(file.read_text("utf-8")) for file in files)
    folder, most = Counter(file.parent for file in package.files).most_common(1)[0]
    handed = names_for_others(package)
    largest = ", ".join(f"{name} {count}" for name, count in handed.most_common(3))
    lines = [
        f"files                        {len(package.files)}",
        f"lines of code                {code}",
        f"largest folder               {most} ({folder.relative_to(directory)})",
        f"names for other subpackages  {handed.total()} ({largest})",
        f"isinstance on groupings      {checks_of_groupings(package)}",
    ]
    for title, (module, name) in WAYS.items():
        stops = way(package, module, name)
        returns = len(stops) - len(set(stops))
        lines.append(f"way of {title:22}{len(stops)} stops, {returns} returns")
        lines += longest_case(package, module, name)
    return "\n".join(lines)


if __name__ == "__main__":
    where, *more = [Path(each) for each in sys.argv[1:]] or [Path("src")]
    sys.stdout.write(report(where, more) + "\n")
