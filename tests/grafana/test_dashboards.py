"""The Grafana dashboards in the repository: each of their queries runs on real servers."""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from pathlib import Path

import pytest

from evenkey import PipelineConfig, run
from evenkey.pipeline.exporters import Exports
from tests.exporters.records import JOIN, join_record
from tests.servers import InfluxServer, PrometheusServer, eventually
from tools.grafana_dashboards import dashboards

GRAFANA = Path(__file__).parents[2] / "grafana"
SOURCES = ["influxdb", "prometheus"]
TITLES = [
    *("Messages", "Max/mean", "StdDev", "DistCost", "Epochs", "Throughput", "Makespan"),
    *("Epoch duration p50", "Epoch duration p99", "Rejected", "Late"),
    *("Lag", "Rows of state", "Size of state"),
    *("Max/mean by epoch", "StdDev by epoch", "DistCost by epoch"),
    *("Moved keys by epoch", "Moved load by epoch", "Throughput by epoch", "Epoch duration"),
    *("Rejected by epoch", "Late by epoch", "Lag by epoch"),
    "Rows of state by epoch",
    *("Load of each worker", "Hottest keys"),
    *("Workers of the hottest keys by epoch", "Workers of the hottest keys so far"),
]
JOIN_TITLES = [
    *("Matches", "MLDC", "MLDC threshold", "Moved partitions", "Static loads"),
    *("MLDC by epoch", "Moved partitions by epoch", "Static loads by epoch"),
]
MESSAGES, WORKERS = 2000, 4
MOST_POINTS = 10_000  # limit of Prometheus per series


def dashboard(source):
    return json.loads((GRAFANA / "dashboards" / f"evenkey-{source}.json").read_text())


def panels(source, titles):
    return [panel for panel in dashboard(source)["panels"] if panel["title"] in titles]


def test_the_dashboards_in_the_repository_are_those_of_the_code():
    written = {path.name: path.read_text() for path in (GRAFANA / "dashboards").iterdir()}
    assert written == dashboards(), "run `make grafana`"


@pytest.mark.parametrize("source", SOURCES)
def test_panels_have_their_places_and_sources(source):
    made = dashboard(source)
    assert made["uid"] == f"evenkey-{source}"
    assert [panel["title"] for panel in made["panels"]] == TITLES + JOIN_TITLES
    assert len({panel["id"] for panel in made["panels"]}) == len(TITLES + JOIN_TITLES)
    provisioned = (GRAFANA / "provisioning" / "datasources" / "evenkey.yaml").read_text()
    reference = {"type": source, "uid": f"evenkey-{source}"}
    assert f"uid: {reference['uid']}\n    type: {source}\n" in provisioned
    (variable,) = made["templating"]["list"]
    assert (variable["name"], variable["datasource"]) == ("run", reference)
    for panel in made["panels"]:
        (target,) = panel["targets"]
        assert panel["datasource"] == target["datasource"] == reference
        assert target["refId"] == "A"
        assert "$run" in (target.get("query") or target["expr"])
    places = [panel["gridPos"] for panel in made["panels"]]
    for place in places:
        assert place["x"] + place["w"] <= 24
    for one, two in itertools.combinations(places, 2):
        across = one["x"] < two["x"] + two["w"] and two["x"] < one["x"] + one["w"]
        down = one["y"] < two["y"] + two["h"] and two["y"] < one["y"] + one["h"]
        assert not (across and down)


def test_no_password_is_checked_in():
    text = "".join(path.read_text() for path in GRAFANA.rglob("*.*"))
    assert re.findall(r"password: (\S+)", text) == ["$EVENKEY_INFLUXDB_PASSWORD"]


@pytest.fixture(scope="module")
def influx(tmp_path_factory):
    with InfluxServer(tmp_path_factory.mktemp("influxdb")) as server:
        yield server


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    with PrometheusServer(tmp_path_factory.mktemp("prometheus")) as server:
        yield server


@pytest.fixture(scope="module")
def began():
    return time.time()


@pytest.fixture(scope="module")
def filled(spark, influx, prometheus, began):
    """Return the report of a run of four epochs, whose metrics both servers have."""
    assert began
    assert spark is not None
    scraped = prometheus_has_seen(prometheus)
    config = PipelineConfig(
        dataset="country-skew-r80",
        messages=MESSAGES,
        workers=WORKERS,
        sources=3,
        aggregators=2,
        epochs=4,
        cost_ms=1,
        export=[influx.address, f"prometheus://127.0.0.1:{prometheus.target}"],
    )
    # The epochs that close the windows are scraped before the run ends.
    report = run(config, on_progress=scraped)
    assert [(each.dropped, each.error) for each in report.exports] == [(0, None)] * 2
    return report


@pytest.fixture(scope="module")
def joined(influx, prometheus, filled):
    """Return the last record of a join, which both servers got after the run of `filled`."""
    assert filled.finished
    record = join_record(1, ended=time.time())
    exports = Exports([influx.address, f"prometheus://127.0.0.1:{prometheus.target}"], JOIN)
    exports.offer(record)
    eventually(lambda: prometheus.query(f'evenkey_mldc{{run="{JOIN.run}"}} == {record["mldc"]}'))
    assert [(each.dropped, each.error) for each in exports.close("finished")] == [(0, None)] * 2
    return record


def prometheus_has_seen(server):
    def wait(progress):
        if progress.epoch >= 4:
            eventually(lambda: server.query(f"evenkey_epoch == {progress.epoch}"))

    return wait


@pytest.mark.slow(8)
def test_every_query_of_influxdb_gives_the_run(filled, influx):
    for panel in panels("influxdb", TITLES):
        text = panel["targets"][0]["query"]
        for name, value in (
            ("$timeFilter", "time > now() - 1h"),
            ("$__interval", "1s"),
            ("/^$run$/", "/^(dkg-.*|other\\(x=1\\))$/"),
        ):
            text = text.replace(name, value)
        assert "$" not in text.replace(")$/", "")
        series = influx.query(text)
        points = [value for each in series for value in each["values"]]
        check(panel["title"], filled, [point[1] for point in points])
    (names,) = influx.query(dashboard("influxdb")["templating"]["list"][0]["query"])
    assert len(names["values"]) == 1


@pytest.mark.slow(18)
def test_every_query_of_prometheus_gives_the_run(filled, prometheus, began):
    for panel in panels("prometheus", TITLES):
        text = panel["targets"][0]["expr"].replace("$run", "dkg-.*|other\\\\(x=1\\\\)")
        assert "$" not in text
        series = as_it_was(prometheus, text, began)
        if panel["targets"][0].get("instant"):
            values = [each["values"][-1][1] for each in series]
        else:
            values = [value for each in series for _, value in each["values"]]
        check(panel["title"], filled, list(map(float, values)))
    seen = prometheus.query("count by (run) (last_over_time(evenkey_epoch[1h]))")
    assert len(seen) == 1


@pytest.mark.slow(8)
def test_every_query_of_a_join_gives_the_join(joined, influx, prometheus, began):
    expected = {
        "Matches": [joined["matches"]],
        "MLDC": [joined["mldc"]],
        "MLDC threshold": [joined["mldc_threshold"]],
        "Moved partitions": [joined["moved_partitions"]],
        "Static loads": [joined["static_loads"]],
        "MLDC by epoch": [joined["mldc"], joined["mldc_threshold"]],
        "Moved partitions by epoch": [joined["epoch_moved_partitions"]],
        "Static loads by epoch": [joined["epoch_static_loads"]],
    }
    assert list(expected) == JOIN_TITLES
    for panel in panels("influxdb", JOIN_TITLES):
        text = panel["targets"][0]["query"].replace("$timeFilter", "time > now() - 1h")
        text = text.replace("$__interval", "1s").replace("/^$run$/", f"/^{JOIN.run}$/")
        series = influx.query(text)
        values = [value for each in series for point in each["values"] for value in point[1:]]
        assert values == expected[panel["title"]], panel["title"]
    for panel in panels("prometheus", JOIN_TITLES):
        text = panel["targets"][0]["expr"].replace("$run", JOIN.run)
        series = as_it_was(prometheus, text, began)
        assert sorted(float(each["values"][-1][1]) for each in series) == sorted(
            expected[panel["title"]]
        ), panel["title"]


def as_it_was(prometheus, text, began):
    """Return all values of a query since `began`, although the run has ended.

    On a loaded machine a value may exist for less than the 200 ms between two reads.
    """
    end = time.time()
    step_ms = max(1, math.ceil(1000 * (end - began) / MOST_POINTS))
    return prometheus.query(text, start=str(began), end=str(end), step=f"{step_ms}ms")


def check(title, report, values):
    """Check that the values of a panel agree with the report of the run."""
    if title == "Epoch duration p99":
        assert values == []  # fewer than 100 epochs
        return
    assert values, title
    metrics = report.metrics
    expected = {
        "Messages": MESSAGES,
        "StdDev": pytest.approx(metrics.stddev_percent),
        "DistCost": pytest.approx(metrics.dist_cost),
        "Rejected": 0,
        "Epochs": 4,
        "Makespan": pytest.approx(report.timing.makespan_ms / 1000),
    }
    if title in expected:
        assert values == [expected[title]], title
    if title == "Load of each worker":
        assert sorted(values) == sorted(metrics.loads)
    fields = {"Max/mean": "max_over_mean", "Moved keys": "moved_keys", "Moved load": "moved_load"}
    for name, field in fields.items():
        if title == f"{name} by epoch":
            known = {round(getattr(each, field), 9) for each in report.epochs}
            assert {round(value, 9) for value in values} <= known
    if title == "Hottest keys":
        assert len(values) >= 10
    if title.startswith("Workers of"):
        assert {*values} <= {*range(1, WORKERS + 1)}
    if title == "Epoch duration":
        assert max(values) <= max(report.timing.epoch_ms) / 1000
