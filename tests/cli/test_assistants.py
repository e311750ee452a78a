"""``evenkey mcp``, driven by the client of the official SDK over standard input and output."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.diagnosis.writing import skewed


def called(*calls):
    """Start a server, call its tools one after another, and return the tools and the results."""
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    anyio = pytest.importorskip("anyio")
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "evenkey", "mcp"], env=dict(os.environ)
    )

    async def work():
        async with mcp.Client(server) as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}
            return tools, [await client.call_tool(name, given) for name, given in calls]

    return anyio.run(work)


def content(tools, name, result):
    """Return what a tool gave; it must be as the tool's schema says."""
    jsonschema = pytest.importorskip("jsonschema")
    assert not result.is_error, result.content
    jsonschema.validate(result.structured_content, tools[name].output_schema)
    return result.structured_content


@pytest.mark.slow(10)
def test_the_tools_give_what_the_command_line_gives(invoke, tmp_path):
    log = skewed().write(tmp_path / "log")
    old = skewed().write(tmp_path / "old")
    os.utime(old, (0, 0))
    clicks = tmp_path / "clicks.csv"
    rows = (f"{0 if each % 10 < 6 else each},{each}\n" for each in range(400))
    clicks.write_text("user,page\n" + "".join(rows))
    advice = {"files": [str(clicks)], "key": "user", "workers": [4]}
    stream = {"dataset": "zipf(z=1.4,keys=100)", "groupings": ["kg", "pkg"], "workers": 4}
    calls = (
        ("diagnose", {"source": str(log), "last_hours": 24}),
        ("advise", advice),
        ("simulate", {**stream, "messages": 2000}),
        ("diagnose", {"source": str(tmp_path / "nothing")}),
        ("explain", {"operator": "over", "files": str(clicks), "key": ["user"]}),
        ("diagnose", {"source": str(old), "last_hours": 24}),
    )
    tools, results = called(*calls)
    assert set(tools) == {"diagnose", "advise", "simulate", "explain"}

    found = content(tools, "diagnose", results[0])
    (one,) = json.loads(invoke("diagnose", log, "--json").stdout)["applications"]
    assert found["to_change"] == 1
    (stage,), (finding,) = found["stages"], one["findings"]
    assert stage["application_id"] == one["id"] == "app-orders"
    for name in ("verdict", "cause", "reason", "seconds", "saved_seconds", "spark_suffices"):
        assert stage[name] == finding[name]
    assert [each["code"] for each in stage["changes"]] == [
        each["code"] for each in finding["changes"]
    ]

    advised = content(tools, "advise", results[1])
    said = invoke("advise", clicks, "--key", "user", "--workers", "4", "--json")
    own = json.loads(said.stdout)
    assert advised["code"] == own["recommendation"]["code"]
    assert advised["messages"] == 400
    assert advised["hottest_shares"][0] == 0.6

    simulated = content(tools, "simulate", results[2])["result"]
    for each, grouping in zip(simulated, ("kg", "pkg"), strict=True):
        said = invoke(
            "simulate", "--dataset", stream["dataset"], "--grouping", grouping, "--workers", 4,
            "--messages", 2000, "--json",
        )  # fmt: skip
        assert each["loads"] == json.loads(said.stdout)["loads"]

    assert results[3].is_error
    assert "nothing" in results[3].content[0].text
    assert results[4].is_error
    assert "order_by is missing" in results[4].content[0].text
    assert results[5].is_error
    assert "last_hours = 24: no log" in results[5].content[0].text


@pytest.mark.slow(25)
@pytest.mark.usefixtures("spark")  # which finds the Java for programs of tests
def test_explain_starts_a_spark_that_leaves_standard_output_alone(tmp_path):
    clicks = tmp_path / "clicks.csv"
    rows = (f"{0 if each % 10 < 6 else each},{each}\n" for each in range(400))
    clicks.write_text("user,page\n" + "".join(rows))
    names = tmp_path / "names.csv"
    names.write_text("user,name\n" + "".join(f"{each},n{each}\n" for each in range(400)))
    given = {"files": str(clicks), "key": ["user"], "workers": 4}
    tools, results = called(
        ("explain", {**given, "operator": "groupBy"}),
        ("explain", {**given, "operator": "join", "other_files": str(names)}),
        ("explain", {**given, "operator": "partition_for_write"}),
        ("explain", {**given, "operator": "join"}),
    )
    assert results[-1].is_error
    assert "other_files is missing" in results[-1].content[0].text
    grouped, joined, written = (content(tools, "explain", each) for each in results[:-1])
    for found in (grouped, written):
        hottest = found["placements"][-1]["hot_keys"][0]
        assert (hottest["name"], hottest["share"]) == ("user 0", pytest.approx(0.6, abs=0.01))
    assert [each["tasks"] for each in (grouped, joined, written)] == [4, 4, 4]
    assert "it broadcasts a side" in joined["placements"][0]["choice"]
