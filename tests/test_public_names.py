"""Every name of a public module has a docstring with an example, which is run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import itertools
import re
from functools import cached_property
from pathlib import Path

import pytest

from evenkey.applications import heavy_hitters
from evenkey.joins import balanced_join
from evenkey.spark import aggregate, aggregate_by_worker, route
from tools.site.modules import MODULES

NAMES = [(each, name) for each in MODULES for name in importlib.import_module(each).__all__]
BROKER = "it needs a broker; tests/kafka"
SECONDS = "it is a run of seconds; with `make soak` this file runs it"
NOT_RUN = {
    "evenkey.RunReport": SECONDS,
    "evenkey.compare": SECONDS,
    "evenkey.kafka.produce": BROKER,
    "evenkey.kafka.read_topic": BROKER,
    "evenkey.read_results": SECONDS,
    "evenkey.run": SECONDS,
    "evenkey.spark.rebalance": "it needs a query that has stopped; tests/spark/test_rebalance.py",
    "evenkey.spark.rows_far_ahead": "it needs a stream that runs; tests/spark/test_event_time.py",
}
"""Names whose example `make test` does not run, or not to its end, with the reason."""

NOT_SHOWN = {
    "apply": "Spark's own is deprecated: use applyInPandas",
    "check": "the constructor calls it; the class shows its error",
    "learned_of_workers": "operators call it with counts of a class that is not public",
    "functions_digest": "runs and streams compare it; docs/aggregators.md says what they log",
    "state_type": "the parameter of `fold`, which its examples show",
    "derive": "the constructor calls it; the class shows what follows",
    "restored": "the runner makes it of a finished run's directory; tests/runs",
    "within_partitions": "balanced_join calls it with regions of a class that is not public",
}
"""Methods that no example calls, with the reason."""

NOT_PUBLIC = {
    "evenkey.applications.Clusters": "it generates the records of an example",
    "evenkey.applications.Documents": "it generates the records of an example",
}
"""Names that docs or examples use although they are private, with the reason."""

NOT_NAMED = {
    "PlannedGrouping.plan_ahead": "`workers` and `memory` are as in `replan`",
    "PlannedGrouping.plan_of": "`workers` is as in `plan`",
    "PlannedGrouping.worker_capacities": "`workers` is as in `plan`",
}
"""Methods that do not name a parameter, with the reason."""


def own_docstring(module, name):
    """Return a class's or function's own docstring, or the text below a constant."""
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        written = value.__dict__.get("__doc__") or ""
        return "" if written.startswith(f"{name}(") else written  # a dataclass without a docstring
    if inspect.isfunction(value):
        return value.__doc__ or ""
    return next((text for text in texts_below(module, name)), "")


def texts_below(module, name):
    """Yield the texts below assignments of the name, in all files of the module's folder."""
    folder = Path(*importlib.import_module(module).__path__)
    files = folder.rglob("*.py") if module != "evenkey" else [folder / "__init__.py"]
    for file in files:
        body = ast.parse(file.read_text("utf-8")).body
        for statement, below in itertools.pairwise(body):
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            if name in [getattr(each, "id", None) for each in targets]:
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield inspect.cleandoc(text)


@pytest.mark.parametrize(("module", "name"), NAMES, ids=str)
def test_a_public_name_has_a_docstring_with_an_example(module, name):
    text = own_docstring(module, name)
    assert text, f"{module}.{name} has no docstring"
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, f"{module}.{name} shows no example"
    assert ("+SKIP" in text) == (f"{module}.{name}" in NOT_RUN)


SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)


def described(text):
    """Yield the names of the parameters that a docstring describes."""
    for section in SECTION.findall(inspect.cleandoc(text or "")):
        for line in section.splitlines():
            if not line.startswith(" "):
                yield from (name.strip(" *") for name in line.split(","))


def options_of(configuration):
    """Return the options of a configuration, each of which has its own description."""
    return getattr(configuration, "model_fields", {})


def arguments(value):
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=str)
def test_a_parameter_is_described_where_it_is_read(module, name):
    value = getattr(importlib.import_module(module), name)
    if inspect.isfunction(value):
        assert {*arguments(value)} <= {*described(value.__doc__)}
    elif inspect.isclass(value) and not (issubclass(value, Exception) or options_of(value)):
        texts = [each.__doc__ for each in value.__mro__]
        assert {*arguments(value)} <= {name for text in texts for name in described(text)}


def test_a_parameter_of_a_method_is_described_or_named():
    """In the method's docstring, or in that of the method that it overrides."""
    missing = {}
    for kind, name, *_ in public_methods():
        versions = [each for base in kind.__mro__ for own, each in methods(base) if own == name]
        text = "\n".join(each.__doc__ or "" for each in versions)
        lacking = [each for each in arguments(versions[0]) if not re.search(rf"\b{each}\b", text)]
        if lacking:
            missing[f"{kind.__name__}.{name}"] = lacking
    assert {*missing} == {*NOT_NAMED}, missing


IMPORT = re.compile(r"^ *(?:>>> )?from (evenkey[.\w]*) import (\([^)]*\)|[^\n(]*)", re.MULTILINE)
SPELLED = re.compile(r"`(evenkey(?:\.\w+)*)\.(\w+)\b")
USER_DOCS = [Path("README.md"), *Path("docs").glob("*.md"), *Path("examples").glob("*.py")]


def names_used(text):
    """Yield each module of the public API and each name in it that a text imports or spells out."""
    for module, imported in IMPORT.findall(text):
        for line in imported.strip("()").split(","):
            yield module, line.partition("#")[0].partition(" as ")[0].strip(" .>\n")
    yield from SPELLED.findall(text)


def test_names_that_docs_and_examples_use_are_public():
    texts = {str(file): file.read_text("utf-8") for file in USER_DOCS}
    texts |= {f"{module}.{name}": own_docstring(module, name) for module, name in NAMES}
    texts |= {f"{kind.__name__}.{name}": text for kind, name, text, _ in public_methods()}
    private = {
        f"{module}.{name}": where
        for where, text in texts.items()
        for module, name in names_used(text)
        if module in MODULES and name not in ("", "*") and f"{module}.{name}" not in MODULES
        if name not in importlib.import_module(module).__all__
    }
    assert {*private} == {*NOT_PUBLIC}, private


@pytest.mark.parametrize(
    ("function", "defaults"),
    [
        (route, {"grouping": "planned", "workers": 10, "load": "epoch"}),
        (aggregate, {"grouping": "planned", "workers": 10, "load": "epoch", "max_ahead": "1 hour"}),
        (aggregate_by_worker, {"grouping": "planned", "workers": 10, "max_ahead": "1 hour"}),
        (balanced_join, {"how": "inner", "workers": 8, "balance": "load", "cache_bytes": 2**30}),
        (heavy_hitters, {"k": 20, "grouping": "pkg", "workers": 4, "max_ahead": "1 hour"}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_defaults_are_those_that_running_streams_began_with(function, defaults):
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in defaults} == defaults


def methods(kind):
    """Yield the functions and properties that a class itself defines, with their names."""
    for name, value in vars(kind).items():
        match value:
            case property(fget=function) | cached_property(func=function):
                yield name, function
            case staticmethod(__func__=function) | classmethod(__func__=function):
                yield name, function
            case _ if inspect.isfunction(value):
                yield name, value


def shown(text):
    """Yield the names that the examples in a text call, read or define."""
    for example in doctest.DocTestParser().get_examples(text or ""):
        for node in ast.walk(ast.parse(example.source)):
            match node:
                case ast.Attribute(attr=name) | ast.FunctionDef(name=name):
                    yield name


def public_methods():
    """Yield class, name, docstring and whether an example shows it, for each public method."""
    classes = {
        value: None
        for module, name in NAMES
        if inspect.isclass(value := getattr(importlib.import_module(module), name))
    }
    for kind in classes:
        ours = [each for each in kind.__mro__ if each.__module__.startswith("evenkey.")]
        texts = [each.__doc__ for each in ours]
        texts += [function.__doc__ for each in ours for _, function in methods(each)]
        named = {name for text in texts for name in shown(text)}
        for name, function in methods(kind):
            if not name.startswith("_"):
                has_own = bool(doctest.DocTestParser().get_examples(function.__doc__ or ""))
                yield kind, name, inspect.getdoc(getattr(kind, name)), has_own or name in named


def test_a_public_method_is_described():
    assert [f"{kind.__name__}.{name}" for kind, name, text, _ in public_methods() if not text] == []


def test_a_public_method_is_in_an_example_of_its_class_or_of_what_it_extends():
    missing = {
        f"{kind.__name__}.{name}": name
        for kind, name, _, is_shown in public_methods()
        if not is_shown
    }
    assert [path for path, name in missing.items() if name not in NOT_SHOWN] == []
    assert {*missing.values()} == {*NOT_SHOWN}, "a reason for what is shown by now"


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("path", [path for path, why in NOT_RUN.items() if why == SECONDS])
def test_the_example_of_a_run_runs(path):
    module, _, name = path.rpartition(".")
    text = own_docstring(module, name).replace("  # doctest: +SKIP", "")
    value = getattr(importlib.import_module(module), name)
    names = vars(importlib.import_module(value.__module__)).copy()
    found = doctest.DocTestParser().get_doctest(text, names, path, None, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found).failed == 0


def constants():
    for module, name in NAMES:
        value = getattr(importlib.import_module(module), name)
        if not inspect.isclass(value) and not inspect.isfunction(value):
            yield module, name


@pytest.mark.parametrize(("module", "name"), [*constants()], ids=str)
def test_the_example_of_a_constant_runs(module, name):
    loaded = importlib.import_module(module)
    names = {**vars(loaded), name: getattr(loaded, name)}
    found = doctest.DocTestParser().get_doctest(own_docstring(module, name), names, name, None, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found).failed == 0
