"""The whole project: exported names, modules that an import loads, and make targets."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evenkey

PACKAGE = Path(next(iter(evenkey.__path__)))
ROOT = PACKAGE.parent.parent
ON_SPARK = {"spark", "joins", "kafka", "runs", "aggregate", "learn", "papers", "cli"}


def modules() -> dict[str, Path]:
    """Return the names of all modules of the package, found without importing them."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def public_packages() -> list[str]:
    return [
        name
        for name, file in modules().items()
        if file.name == "__init__.py" and not re.search(r"\._", name)
    ]


def loaded_by(*names: str) -> set[str]:
    """Return the top-level packages that a new interpreter loads when it imports modules."""
    script = f"import sys, {', '.join(names)}; print(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=PACKAGE.parent,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("name", modules())
def test_exported_names_exist(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert [each for each in exported if not hasattr(module, each)] == []
    assert len(set(exported)) == len(exported)


@pytest.mark.parametrize("name", public_packages())
def test_public_package_says_what_it_exports(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    assert hasattr(module, "__all__")


def test_import_of_the_package_loads_no_engine() -> None:
    loaded = loaded_by("evenkey")
    assert "evenkey" in loaded
    assert loaded.isdisjoint({"pyspark", "py4j", "pyarrow", "pandas", "numpy", "numba"})


def test_import_of_the_operators_loads_no_more_than_spark_does() -> None:
    more = loaded_by("pyspark.sql", "evenkey.spark") - loaded_by("pyspark.sql")
    assert more - sys.stdlib_module_names == {"evenkey"}


def test_packages_without_an_engine_load_none() -> None:
    packages = [name for name in public_packages() if ON_SPARK.isdisjoint(name.split("."))]
    loaded = loaded_by(*packages)
    assert loaded.isdisjoint({"pyspark", "py4j", "numba", "plotly", "jinja2", "dash"})


def test_sources_load_nothing_of_configurations() -> None:
    # Each query starts a process per source, which loads only what it needs for reading.
    loaded = loaded_by("evenkey.pipeline.runs.input.sources")
    assert loaded.isdisjoint({"pydantic", "pandas", "numba"})


def test_every_make_target_is_listed_with_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    targets = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert targets is not None
    printed = subprocess.run(
        ["make", "--no-print-directory", "help"],  # noqa: S607 - make from the PATH
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    assert [line.split()[0] for line in printed.splitlines()] == targets[1].split()
    assert all(len(line.split()) > 1 for line in printed.splitlines())
