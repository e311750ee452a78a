"""Stored files are read as data; the modules that could turn bytes into code are listed."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from evenkey.spark.sessions.access import _PLAIN

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "evenkey"
SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
UNPICKLES = {
    "aggregators/fold.py": "states of folds for which the user chose pickles",
    "checks/aggregators.py": "what the check pickled itself",
    "checks/groupings.py": "what the check pickled itself",
    "pipeline/runs/input/sources.py": "the driver's own file, after its digest was compared",
    "spark/moves/restoring.py": "values that a task of the same query has just packed",
    "spark/sessions/open_task.py": "functions that Spark brought to a worker",
    "spark/sessions/access.py": "answers of tasks over Connect, of a restricted kind",
}
"""Modules that unpickle; SECURITY.md describes each of them."""
VARIABLE = re.compile(
    r"(EVENKEY|SPARK|PYSPARK|HADOOP|JAVA|NUMBA|AWS|AZURE|GOOGLE|STORAGE|XDG)_[A-Z_]+"
)
NOT_VARIABLES = {"EVENKEY_JOIN"}  # a column
STORED = re.compile(r"(state/)?([\w-]+/)*[\w-]+\.(json|npz)")


def found(pattern):
    return {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if re.search(pattern, file.read_text("utf-8"))
    }


@functools.cache
def texts():
    """Return all texts in the code, without docstrings."""
    trees = [ast.parse(file.read_text("utf-8")) for file in SOURCES.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs)
    return {node.value for node in constants if isinstance(node.value, str)}


def test_only_known_modules_unpickle():
    unpickling = (
        r"pickle\.(loads?|Unpickler)\(|\bUnpickler\b|from pickle import|read_pickle|shelve"
        r"|cloudpickle\.loads?|CPickleSerializer|unpickle\("
    )
    assert found(unpickling) == set(UNPICKLES)


def test_arrays_are_read_without_pickles():
    for name in found(r"np\.load\(|read_array\(|allow_pickle=True"):
        text = (SOURCES / name).read_text("utf-8")
        loads = re.findall(r"(?:np\.load|read_array)\(", text)
        assert len(loads) == len(re.findall(r"np\.load\(.*allow_pickle=False", text)), name


def test_no_text_is_run():
    running = r"(?<![.\w])(eval|exec|__import__)\(|builtins\.(eval|exec)"
    assert not found(running + r"|yaml|marshal|joblib|\bdill\b|shell=True|os\.system\(")
    assert found(r"\brunpy\b") == {"cli/submission/run_file.py"}  # the program that the user names


def test_an_answer_over_connect_names_nothing_of_numpys():
    """NumPy's own functions make arrays that point outside of their memory."""
    modules = {"pyarrow.lib", "collections", "pathlib", "evenkey.spark.sessions.access"}
    assert {module for module, _ in _PLAIN} == modules


def test_each_variable_of_the_environment_is_described():
    read = {text for text in texts() if VARIABLE.fullmatch(text)} - NOT_VARIABLES
    named = set(re.findall(r"`([A-Z_]+\*?)`", SECURITY))
    prefixes = tuple(each.removesuffix("*") for each in named if each.endswith("*"))
    assert len(read) > 20
    assert not {each for each in read if each not in named and not each.startswith(prefixes)}


def test_each_stored_file_is_described():
    stored = {text for text in texts() if STORED.fullmatch(text)}
    assert len(stored) > 10
    assert not {text for text in stored if text.rpartition("/")[2] not in SECURITY}
