"""Stored files are read as data; the modules that could turn bytes into code are listed."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "evenkey"
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


def found(pattern):
    return {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if re.search(pattern, file.read_text("utf-8"))
    }


def test_only_known_modules_unpickle():
    assert found(r"pickle\.(loads?|Unpickler)\(|\bUnpickler\b") == set(UNPICKLES)


def test_arrays_are_read_without_pickles():
    for name in found(r"np\.load\("):
        text = (SOURCES / name).read_text("utf-8")
        assert text.count("np.load(") == len(re.findall(r"np\.load\(.*allow_pickle=False", text))


def test_no_text_is_run():
    assert not found(r"(?<![.\w])(eval|exec)\(|yaml|marshal|joblib|\bdill\b")
