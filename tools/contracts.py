"""Contracts that import-linter lacks: packages only, no circle of files, any kind of session."""

from __future__ import annotations

import ast
import importlib.util
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, output
from importlinter.domain import fields

if TYPE_CHECKING:
    from grimp import ImportGraph

__all__ = ["AnySession", "NoCircles", "PackagesOnly", "names_used", "subpackage_of"]


def subpackage_of(module: str, groups: set[str]) -> str:
    """Give the subpackage that a module is in: one below the root, or below a group of them.

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


class PackagesOnly(Contract):
    """Outside a subpackage only packages are imported, never a module inside one."""

    type_name = "packages_only"

    groups = fields.SetField(subfield=fields.StringField(), required=False, default=set())
    excepted = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's own
        """Check every import between subpackages."""
        del verbose
        groups: set[str] = set(self.groups)  # type: ignore[call-overload]
        names: set[str] = set(self.excepted)  # type: ignore[call-overload]
        ours = [each for each in graph.modules if each.startswith("evenkey.")]
        past = [
            f"{importer} -> {imported}"
            for importer in sorted(ours)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported.startswith("evenkey.")
            and imported.count(".") > 1
            and not graph.find_children(imported)
            and subpackage_of(imported, groups) not in {imported, subpackage_of(importer, groups)}
            and imported.rpartition(".")[2] not in names
        ]
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name the imports."""
        for each in check.metadata["past"]:
            output.print_error(f"{each}: import it from the package that it lies in")


class NoCircles(Contract):
    """No file imports itself through others."""

    type_name = "no_circles"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's own
        """Sort the files of the package; ``__init__`` of packages is left out."""
        del verbose
        ours = {each for each in graph.modules if each.startswith("evenkey.")}
        files = {each for each in ours if not graph.find_children(each)}
        arrows = {
            each: graph.find_modules_directly_imported_by(each) & files for each in sorted(files)
        }
        try:
            TopologicalSorter(arrows).prepare()
        except CycleError as error:
            return ContractCheck(kept=False, metadata={"circle": error.args[1]})
        return ContractCheck(kept=True)

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name the files of a circle."""
        output.print_error(" <- ".join(check.metadata["circle"]))


CLASSIC_ONLY = frozenset(
    {"sparkContext", "_sc", "_jvm", "_jsc", "_jdf", "_jsparkSession", "accumulator"}
)
"""What a session over Connect does not have; accumulators and the rest of the driver's own."""


def names_used(source: str) -> set[str]:
    """Give the attributes that a module asks for, and the modules that it imports.

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
    """Modules work on classic sessions and over Connect: nothing that one of them lacks is used."""

    type_name = "any_session"

    packages = fields.SetField(subfield=fields.StringField())
    excepted = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's own
        """Read every module of the packages."""
        del verbose
        packages: set[str] = set(self.packages)  # type: ignore[call-overload]
        excepted: set[str] = set(self.excepted)  # type: ignore[call-overload]
        forbidden = CLASSIC_ONLY | {"pyspark.accumulators"}
        used = []
        for module in sorted(graph.modules):
            inside = any(module == each or module.startswith(f"{each}.") for each in packages)
            if inside and module not in excepted:
                found = importlib.util.find_spec(module)
                origin = None if found is None else found.origin
                names = names_used(Path(origin).read_text()) if origin else set()
                used += [f"{module}: {name}" for name in sorted(names & forbidden)]
        return ContractCheck(kept=not used, metadata={"used": used})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name the modules and what they use."""
        for each in check.metadata["used"]:
            output.print_error(f"{each}: a session over Connect has none")
