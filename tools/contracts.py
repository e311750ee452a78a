"""Contracts for import-linter that it does not have itself.

`PackagesOnly`: imports from outside a subpackage name its packages only, also in strings.
`NoCircles`: no import cycles. `FewNames`: a subpackage offers few private names.
`AnySession`: the code also works over Spark Connect.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, output
from importlinter.domain import fields

from tools.structure import Package, names_for_others

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grimp import ImportGraph

__all__ = ["AnySession", "FewNames", "NoCircles", "PackagesOnly", "names_used", "subpackage_of"]


def subpackage_of(module: str, groups: set[str]) -> str:
    """Return the subpackage of a module: a folder of the root package, or of a group in it.

    Examples
    --------
    >>> subpackage_of("evenkey.groupings.heads.base", {"evenkey.papers"})
    'evenkey.groupings'
    >>> subpackage_of("evenkey.papers.publish_subscribe.report", {"evenkey.papers"})
    'evenkey.papers.publish_subscribe'
    """
    parts = module.split(".")
    depth = 3 if ".".join(parts[:2]) in groups else 2
    return ".".join(parts[:depth])


def modules_in_strings(source: str) -> set[str]:
    """Return our modules that a source names in strings; a star replaces a part that is computed.

    Examples
    --------
    >>> source = 'import_module("evenkey.core.ddl"); import_module(f"evenkey.kafka.{name}")'
    >>> sorted(modules_in_strings(source))
    ['evenkey.core.ddl', 'evenkey.kafka.*']
    >>> modules_in_strings("def run(): 'As evenkey.core has it.'")
    set()
    """
    texts = (
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    named = (each for each in texts if re.fullmatch(r"evenkey(\.\w+)+\.?", each))
    return {f"{each}*" if each.endswith(".") else each for each in named}


def source_of(module: str) -> str:
    """Read the source of a module."""
    found = importlib.util.find_spec(module)
    return Path(found.origin).read_text("utf-8") if found and found.origin else ""


class PackagesOnly(Contract):
    """Code outside a subpackage imports only its packages, never a module inside one."""

    type_name = "packages_only"

    groups = fields.SetField(subfield=fields.StringField(), required=False, default=set())
    excepted = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's own
        """Check every import between subpackages, and every module that a string names."""
        del verbose
        groups: set[str] = set(self.groups)  # type: ignore[call-overload]
        names: set[str] = set(self.excepted)  # type: ignore[call-overload]
        modules = ours(graph)
        packages = {each for each in modules if graph.find_children(each)}
        inside = modules - packages | {f"{each}.*" for each in packages}
        past = [
            f"{importer} -> {imported}"
            for importer in sorted(modules)
            for imported in sorted(
                graph.find_modules_directly_imported_by(importer)
                | modules_in_strings(source_of(importer))
            )
            if imported in inside
            and imported.count(".") > 1
            and subpackage_of(imported, groups) not in {imported, subpackage_of(importer, groups)}
            and imported.rpartition(".")[2] not in names
        ]
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports that break the contract."""
        for each in check.metadata["past"]:
            output.print_error(f"{each}: import it from the package that contains it")


def ours(graph: ImportGraph) -> set[str]:
    """Return the modules and packages below the root package."""
    return {each for each in graph.modules if each.startswith("evenkey.")}


def runs_on_import(imported: str, importer: str) -> set[str]:
    """Return what an import runs: the module, and its packages that do not contain the importer.

    Examples
    --------
    >>> sorted(runs_on_import("evenkey.groupings.heads.base", "evenkey.groupings.key"))
    ['evenkey.groupings.heads', 'evenkey.groupings.heads.base']
    """
    return {imported, *_packages_of(imported)} - {importer, *_packages_of(importer)}


def _packages_of(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


class NoCircles(Contract):
    """No file imports itself through other files, including the ``__init__`` of packages."""

    type_name = "no_circles"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's own
        """Sort the files of the package so that each comes after the files that its imports run."""
        del verbose
        arrows = {
            each: {
                run
                for imported in graph.find_modules_directly_imported_by(each) & ours(graph)
                for run in runs_on_import(imported, each)
            }
            for each in sorted(ours(graph))
        }
        try:
            TopologicalSorter(arrows).prepare()
        except CycleError as error:
            return ContractCheck(kept=False, metadata={"circle": error.args[1]})
        return ContractCheck(kept=True)

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the files of an import cycle."""
        output.print_error(" <- ".join(check.metadata["circle"]))


class FewNames(Contract):
    """A subpackage offers others few names besides its public ones.

    Subpackages that offer more than ``most`` are listed in ``more``, one ``NAME NUMBER`` per line.
    NUMBER must be the present number, so it can only decrease.
    """

    type_name = "few_names"

    most = fields.IntegerField()
    more = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's own
        """Count the names of each subpackage."""
        del graph, verbose
        root = importlib.util.find_spec("evenkey")
        counts = names_for_others(Package(Path(str(root and root.origin)).parents[1]))
        most = int(self.most)  # type: ignore[call-overload]
        lines: set[str] = set(self.more)  # type: ignore[call-overload]
        return ContractCheck(
            kept=not (wrong := wrong_counts(counts, most, lines)), metadata={"wrong": wrong}
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the subpackages whose number of names is not the allowed one."""
        for each in check.metadata["wrong"]:
            output.print_error(each)


def wrong_counts(counts: Mapping[str, int], most: int, listed: set[str]) -> list[str]:
    """Return the errors of counts of names, compared with the maximum and its exceptions.

    Examples
    --------
    >>> wrong_counts({"a": 10, "b": 12}, 10, {"b 12"})
    []
    >>> wrong_counts({"a": 11, "b": 12}, 10, {"b 13"})
    ['a gives 11 private names: at most 10', 'b gives 12 private names: list 12, not 13']
    >>> wrong_counts({"a": 11, "b": 9}, 10, {"a 10", "b 9"})
    ['a gives 11 private names: at most 10', 'b gives 9 private names: drop its line']
    """
    more = {name: int(number) for name, number in map(str.split, listed)}
    wrong = []
    for name in sorted({*counts, *more}):
        count, line = counts.get(name, 0), more.get(name)
        if count > max(most, line or 0):
            wrong.append(f"{name} gives {count} private names: at most {max(most, line or 0)}")
        elif line is not None and count <= most:
            wrong.append(f"{name} gives {count} private names: drop its line")
        elif line is not None and count < line:
            wrong.append(f"{name} gives {count} private names: list {count}, not {line}")
    return wrong


CLASSIC_ONLY = frozenset(
    {"sparkContext", "_sc", "_jvm", "_jsc", "_jdf", "_jsparkSession", "accumulator"}
)
"""Names that only classic sessions have, and sessions over Connect lack, such as accumulators."""


def names_used(source: str) -> set[str]:
    """Return the names of attributes that a module reads, and of modules that it imports.

    Examples
    --------
    >>> sorted(names_used("import json; df.sparkSession.sparkContext.master"))
    ['json', 'master', 'sparkContext', 'sparkSession']
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


class AnySession(Contract):
    """Modules work on classic sessions and over Connect: they use nothing that either lacks."""

    type_name = "any_session"

    packages = fields.SetField(subfield=fields.StringField())
    excepted = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's own
        """Check the source of every module of the packages."""
        del verbose
        packages: set[str] = set(self.packages)  # type: ignore[call-overload]
        excepted: set[str] = set(self.excepted)  # type: ignore[call-overload]
        forbidden = CLASSIC_ONLY | {"pyspark.accumulators"}
        used = []
        for module in sorted(graph.modules):
            inside = any(module == each or module.startswith(f"{each}.") for each in packages)
            if inside and module not in excepted:
                names = names_used(source_of(module))
                used += [f"{module}: {name}" for name in sorted(names & forbidden)]
        return ContractCheck(kept=not used, metadata={"used": used})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the modules, and the names that they use."""
        for each in check.metadata["used"]:
            output.print_error(f"{each}: a session over Connect does not have it")
