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
    clicks = tmp_path / "clicks.csv"
    rows = (f"{0 if each % 10 < 6 else each},{each}\n" for each in range(400))
    clicks.write_text("user,page\n" + "".join(rows))
    advice = {"files": [str(clicks)], "key": "user", "workers": [4]}
    stream = {"dataset": "zipf(z=1.4,keys=100)", "groupings": ["kg", "pkg"], "workers": 4}
    calls = (
        ("diagnose", {"source": str(log)}),
        ("advise", advice),
        ("simulate", {**stream, "messages": 2000}),
        ("diagnose", {"source": str(tmp_path / "nothing")}),
        ("explain", {"operator": "over", "files": str(clicks), "key": ["user"]}),
    )
    tools, results = called(*calls)
    assert set(tools) == {"diagnose", "advise", "simulate", "explain"}

    found = content(tools, "diagnose", results[0])
    (one,) = json.loads(invoke("diagnose", log, "--json").stdout)["applications"]
    assert found["to_change"] == 1
    (stage,), (finding,) = found["stages"], one["findings"]
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


@pytest.mark.slow(25)
@pytest.mark.usefixtures("spark")  # which finds the Java for programs of tests
def test_explain_starts_a_spark_that_leaves_standard_output_alone(tmp_path):
    clicks = tmp_path / "clicks.csv"
    rows = (f"{0 if each % 10 < 6 else each},{each}\n" for each in range(400))
    clicks.write_text("user,page\n" + "".join(rows))
    given = {"operator": "groupBy", "files": str(clicks), "key": ["user"], "workers": 4}
    tools, (result,) = called(("explain", given))
    found = content(tools, "explain", result)
    assert found["tasks"] == 4
    hottest = found["placements"][-1]["hot_keys"][0]
    assert (hottest["name"], hottest["share"]) == ("user 0", pytest.approx(0.6, abs=0.01))
