"""Run the code of README and docs that no other test runs."""

from __future__ import annotations

import ast
import shlex
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.snippets.blocks import snippets
from tests.snippets.shown import not_shown, table_is_shown, usual_partitions


@pytest.fixture
def invoke(monkeypatch, tmp_path):
    """Return a function that runs command lines in an empty directory."""
    from typer.testing import CliRunner

    from evenkey.cli import app

    monkeypatch.chdir(tmp_path)

    def run(text):
        for line in text.replace("\\\n", " ").splitlines():
            done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            assert done.exit_code == 0, done.output
            yield done.stdout

    return run


@pytest.mark.slow(13)
def test_start(invoke, spark, capsys, tmp_path):
    simulated, advised = snippets("docs/start.md", "sh")
    (printed,) = invoke(simulated)
    assert table_is_shown(printed, "docs/start.md")
    own, program, six = snippets("docs/start.md", "python")
    exec(own, {})  # noqa: S102 - our own text
    (printed,) = invoke(advised)
    assert "planned on 8 workers" in " ".join(printed.split())
    file = str(tmp_path / "clicks.csv")  # Java keeps the working directory in which it was started
    exec(program.replace("clicks.csv", file), {})  # noqa: S102 - our own text
    assert "|      ann|898323|" in capsys.readouterr().out
    counted = spark.read.csv(file, header=True, inferSchema=True)
    assert counted.where("user = 'ann'").groupBy().sum("seconds").first()[0] == 898_323
    assert len(ast.parse(six).body) == 6
    exec(six, {})  # noqa: S102 - our own text
    assert "|       6|  46.0|\n|       7|  47.0|" in capsys.readouterr().out


@pytest.mark.slow(3)
def test_operators(spark, capsys):
    asked, figures = snippets("docs/operators.md", "python")
    names: dict[str, Any] = {}
    with usual_partitions(spark):
        exec(asked, names)  # noqa: S102 - our own text
    assert not_shown(capsys.readouterr().out, "docs/operators.md") == []
    exec(figures, names)  # noqa: S102 - our own text
    assert "12500.0 [('day 2026-11-22', 5)]" in capsys.readouterr().out


@pytest.mark.slow(12)
def test_simulation(invoke):
    for command in snippets("docs/simulation.md", "sh"):
        (printed,) = invoke(command)
        assert table_is_shown(printed, "docs/simulation.md")
    (code,) = snippets("docs/simulation.md", "python")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own text
    assert names["report"].metrics.messages == 1_000_000


@pytest.mark.usefixtures("spark")
def test_profiles(tmp_path, monkeypatch):
    from evenkey.core.profiles import read_profile

    monkeypatch.chdir(tmp_path)
    (code,) = snippets("docs/profiles.md", "python")
    exec(code.replace("100_000", "1_000"), {"__name__": "page"})  # noqa: S102 - our own text
    (operation,) = read_profile(tmp_path / "profile.json").operations.values()
    (rows,) = operation.inputs
    assert operation.operator == "applyInPandas(newest)"
    assert rows.share(rows.keys[0]) == pytest.approx(0.6)


@pytest.mark.usefixtures("spark")
def test_unchanged_jobs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = snippets("docs/unchanged-jobs.md", "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(code.replace("100_000", "200"), names)  # noqa: S102 - our own text
    assert names["balancing"].rerouted == ["applyInPandas(newest) by user"]
    assert len(names["second"]) == 124


def test_planned(spark):
    (code,) = snippets("docs/plan-a-stream.md", "python")
    names: dict[str, Any] = {"df": spark.range(640).selectExpr("id % 3 as user")}
    exec(code, names)  # noqa: S102 - our own text
    assert "worker" in names["placed"].columns


@pytest.mark.slow(8)
def test_applications(spark, tmp_path, monkeypatch):
    from evenkey.applications import DecisionTree, Models, NaiveBayes, train

    monkeypatch.chdir(tmp_path)
    hitters, naive, tree = snippets("docs/applications.md", "python")
    clicks = spark.range(60).selectExpr("if(id % 3 < 2, 'ann', 'bob') as user")
    documents = spark.createDataFrame(
        [(1, "tea", "green tea"), (2, "bar", "bar of gold")], "id int, label string, text string"
    ).coalesce(1)
    Models("out/models", NaiveBayes()).write(1, train(documents, NaiveBayes(), workers=2))
    stream = spark.readStream.format("rate").load().selectExpr("'gold' as text")
    names: dict[str, Any] = {"clicks": clicks, "documents": documents, "stream": stream}
    exec(hitters, names)  # noqa: S102 - our own text
    assert next((row["user"], row["count"]) for row in names["found"].collect()) == ("ann", 40)
    exec(naive, names)  # noqa: S102 - our own text
    for labelled in (names["labelled"], names["asked"]):
        assert {str(row["id"]): row["prediction"] for row in labelled.collect()} == {
            "1": "tea",
            "2": "bar",
        }
    features = "array(cast(id as double), 1D) as features"
    names["df"] = spark.range(40).selectExpr("if(id < 20, 'low', 'high') as label", features)
    names["values"] = np.array([[3.0, 1.0]])
    exec(tree.replace("passes=6", "passes=2"), names)  # noqa: S102 - our own text
    assert isinstance(names["model"], type(DecisionTree().start()))


@pytest.mark.slow(5)
def test_joins(spark, tmp_path, monkeypatch):
    import shapely

    monkeypatch.chdir(tmp_path)
    joins, then = snippets("docs/joins.md", "python")
    point, box = shapely.Point(1, 1).wkb, shapely.box(0, 0, 2, 2).wkb
    profiles = spark.createDataFrame([("ann", "Oslo")], "user string, city string")
    names: dict[str, Any] = {
        "events": spark.createDataFrame([("ann", 1), ("bob", 2)], "user string, amount int"),
        "profiles": profiles,
        "profiles_of_today": profiles.selectExpr("user", "'Rome' as city"),
        "positions": spark.createDataFrame([(bytearray(point),)], "geometry binary"),
        "regions": spark.createDataFrame(
            [("here", bytearray(box))], "name string, geometry binary"
        ),
        "orders": spark.createDataFrame(
            [(1, "tea", 2)], "order bigint, article string, amount int"
        ),
        "prices": spark.createDataFrame([("tea", 101.5)], "article string, price double"),
    }
    module = ModuleType("page_on_joins")
    module.__dict__.update(names)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(joins, module.__dict__)  # noqa: S102 - our own text
    exec(then, module.__dict__)  # noqa: S102 - our own text
    assert [row["name"] for row in module.inside.collect()] == ["here"]
    assert {row["user"]: row["city"] for row in module.joined.collect()}.keys() == {"ann", "bob"}
