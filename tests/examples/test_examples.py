"""The programs and the notebook in examples/ run, with little data."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from tools.notebook import kept, printed

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def example(monkeypatch):
    """Return a function that imports a program, whose definitions are pickled as a script's."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        cloudpickle.register_pickle_by_value(module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.slow(4)
def test_word_count(example, tmp_path, capsys):
    (tmp_path / "book.txt").write_text("To be, or not to be:\nthat is the question.\n")
    example("word_count").main([str(tmp_path / "book.txt")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == [["2", "be"], ["2", "to"], ["1", "is"]]
    assert len(lines) == 8


def test_heavy_hitters(example, capsys):
    example("heavy_hitters").main(3000)
    ours, theirs = (part.splitlines() for part in _halves(capsys.readouterr().out))
    for lines in (ours, theirs):
        assert [line.split()[1] for line in lines[:2]] == ["1", "2"]
    assert all(int(line.split()[-3]) <= 2 for line in ours)


def _halves(text):
    """Return the printed lines of evenkey's results, and those of Spark's."""
    lines = text.splitlines(keepends=True)
    return (
        "".join(line for line in lines if "about" not in line),
        "".join(line for line in lines if "about" in line),
    )


@pytest.mark.slow(7)
def test_naive_bayes(example, capsys):
    program = example("naive_bayes")
    assert program.main(records=300, words=150) > 0.7
    output = capsys.readouterr().out
    assert "epoch 0: 100 records, accuracy None" in output
    assert "200 of them alike" in output


@pytest.mark.slow(4)
def test_decision_tree(example, capsys):
    assert example("decision_tree").main(rows=900, depth=2) > 0.5
    assert "rows classified rightly" in capsys.readouterr().out


def test_own_aggregator(example):
    medians = example("own_aggregator").main()
    # The values are 1 to 501, about equally frequent.
    assert medians == pytest.approx({"ann": 251, "bob": 251}, rel=0.02)


@pytest.mark.soak(140)
def test_demo(tmp_path):
    program = [sys.executable, EXAMPLES / "demo.py", tmp_path / "demo"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"and the same 500 results", done.stdout)) == 2
    page = tmp_path / "demo" / "index.html"
    assert done.stdout.endswith(f"Open {page.as_uri()}\n")
    gain = r"faster if rows wait, (?:\S+ (?:faster|slower)|as fast) if they compute"
    assert re.search(gain, page.read_text("utf-8"))
    assert "rows wait" in page.with_name("diagnosis.html").read_text("utf-8")


def prints_what_it_says(name):
    notebook = json.loads((EXAMPLES / name).read_text("utf-8"))
    texts = kept(notebook)
    assert any(texts)
    assert printed(notebook) == texts


@pytest.mark.soak(100)
@pytest.mark.parametrize("name", ["balanced.ipynb", "compare_schemes.ipynb", "moving_join.ipynb"])
def test_a_notebook_prints_its_output(name):
    prints_what_it_says(name)
