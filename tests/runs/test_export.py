"""Exports of runs equal the observer's figures, after restarts too, and contain no passwords."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from evenkey import run as run_typed
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.exporters import Exporter, History, all_exporters
from tests.pausing import when_running
from tests.servers import free_port

pytestmark = pytest.mark.usefixtures("spark")

SMALL = {"workers": 4, "sources": 3, "aggregators": 2}
SECRET = "hunter2-secret"


def run(config, **options):
    return run_typed(config, **options)


def records(directory):
    history = History(directory)
    return [history.record(epoch) for epoch in history.numbers()]


def ending(history):
    ended = history.ended()
    return None if ended is None else ended[0]


@pytest.mark.soak(8)
def test_an_output_contains_the_history_of_its_run(tmp_path):
    lines = ["hot"] * 300 + [f"cold {number % 20}" for number in range(200)]
    lines[100:100] = ["", ""]
    file = tmp_path / "keys.txt"
    file.write_text("\n".join(lines))
    config = PipelineConfig(input=file, grouping="pkg", epochs=2, output=tmp_path / "out", **SMALL)
    report = run(config)
    assert report.exports == ()
    history = History(tmp_path / "out" / "history")
    assert history.run().grouping == "pkg"
    first, last, *windows = records(tmp_path / "out" / "history")
    assert [each.epoch for each in (first, last, *windows)] == list(range(2 + len(windows)))
    assert (last["messages"], last["epoch_messages"]) == (500, 500 - first["epoch_messages"])
    assert last["loads"] == report.metrics.loads
    assert (
        tuple(map(sum, zip(first["epoch_loads"], last["epoch_loads"], strict=True)))
        == last["loads"]
    )
    assert last["stddev_percent"] == report.metrics.stddev_percent
    assert last["dist_cost"] == report.metrics.dist_cost
    assert last["max_over_mean"] == report.metrics.max_over_mean
    assert [each["epoch_dist_cost"] for each in (first, last)] == [
        each.dist_cost for each in report.epochs
    ]
    assert last["rejected"] == report.rejected
    assert 0 < first["makespan_ms"] < last["makespan_ms"]
    assert last["messages_per_second"] == pytest.approx(1000 * 500 / last["makespan_ms"])
    assert last["duration_p50_ms"] == pytest.approx(
        (first["epoch_duration_ms"] + last["epoch_duration_ms"]) / 2
    )
    assert [each["epoch_duration_ms"] for each in (first, last)] == list(report.timing.epoch_ms)
    # The epochs that close the windows have no input and no balance of their own.
    for closing in windows:
        assert closing["loads"] == last["loads"]
        assert not {"epoch_loads", "epoch_duration_ms"} & closing.figures.keys()
    assert windows[-1]["makespan_ms"] == report.timing.makespan_ms > last["makespan_ms"]
    assert [each["lag"] for each in (first, last, windows[-1])] == [251, 0, 0]
    assert last["state_rows"] >= len(set(filter(None, lines)))  # one per window and key
    assert windows[-1]["state_rows"] == 1  # the row that closed the windows

    keys = Counter(lines[:251])  # the first half of the lines
    assert first.hottest[0].key == "hot"
    assert {each.key: each.messages for each in first.hottest} == {
        key: keys[key] for key in keys if key
    }
    for each in (*first.hottest, *last.hottest):
        assert sum(each.held) == each.messages
        assert len(each.pool) == len(each.held) <= 2
    assert len(last.hottest) == 10


@pytest.mark.soak(11)
def test_a_continued_run_continues_its_history(tmp_path):
    stream = generated("country-skew-r80", messages=3000)
    config = PipelineConfig(
        dataset=stream.name, messages=3000, output=tmp_path, epochs=4, cost_ms=2.0, **SMALL
    )
    paused = tmp_path / "state" / "paused"
    assert not run(config, on_progress=when_running(paused)).finished
    history = History(tmp_path / "history")
    before = records(tmp_path / "history")
    assert 0 < sum("epoch_loads" in each.figures for each in before) < 4
    name = history.run().run
    assert ending(history) == "paused"
    elsewhere = f"parquet:{tmp_path / 'metrics'}"
    finished = run(config.with_options(cost_ms=0.0, export=elsewhere))
    after = records(tmp_path / "history")
    assert after[: len(before)] == before
    assert sum("epoch_loads" in each.figures for each in after) == 4
    # Another history that began with this process also has the earlier process's commits.
    assert finished.exports[0].points == len(after)
    elsewhere_all = records(tmp_path / "metrics" / name)
    assert elsewhere_all[len(before) :] == after[len(before) :]
    assert [each["loads"] for each in elsewhere_all] == [each["loads"] for each in after]
    assert after[-1]["messages"] == 3000
    assert history.run().run == name
    assert ending(history) == "finished"


class Broken(Exporter):
    """An exporter whose methods all fail."""

    to = "broken:"

    def points(self, record):
        return [record]

    def write(self, points):
        message = f"{len(points)} points cannot be written"
        raise ValueError(message)

    def beat(self):
        message = "no life"
        raise OSError(message)

    def close(self, ending):
        message = f"cannot end {ending}"
        raise RuntimeError(message)


@pytest.mark.slow(4)
def test_a_broken_exporter_stops_nothing(monkeypatch):
    kind = all_exporters._KINDS["prometheus"]._replace(make=lambda _address, _run: Broken())
    monkeypatch.setitem(all_exporters._KINDS, "prometheus", kind)
    config = PipelineConfig(
        dataset="country-skew-r80",
        messages=1000,
        epochs=2,
        export="prometheus://127.0.0.1",
        **SMALL,
    )
    report = run(config)
    assert report.finished
    assert sum(row["count"] for row in report.table.to_pylist()) == 1000
    (summary,) = report.to_json()["exports"]
    assert summary.pop("dropped") > 2
    assert summary == {"to": "broken:", "points": 0, "error": "cannot end finished"}


@pytest.mark.slow(5)
def test_passwords_appear_nowhere(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("EVENKEY_INFLUXDB_PASSWORD", SECRET)
    file = tmp_path / "kafka-password"
    file.write_text(SECRET)
    monkeypatch.setenv("EVENKEY_KAFKA_CLIENT_SASL_PASSWORD_FILE", str(file))
    nobody = free_port()
    output = tmp_path / "out"
    config = PipelineConfig(
        dataset="country-skew-r80",
        messages=500,
        epochs=1,
        output=output,
        export=[f"influxdb://me@127.0.0.1:{nobody}/db", f"kafka://127.0.0.1:{nobody}/metrics"],
        **SMALL,
    )
    report = run(config)
    assert [each.error is not None for each in report.exports] == [True, True]
    reported = json.dumps([report.to_json(), config.manifest()]) + repr((report, config))
    printed = capfd.readouterr()
    for text in (reported, printed.out, printed.err):
        assert SECRET not in text
    files = [each for each in output.rglob("*") if each.is_file()]
    assert output / "state" / "manifest.json" in files
    assert [each for each in files if SECRET.encode() in each.read_bytes()] == []


def test_an_exporter_that_cannot_be_created_is_reported_before_the_run(tmp_path):
    wrong = "influxdb://localhost"
    with pytest.raises(ConfigurationError, match="names no database"):
        PipelineConfig(dataset="country-skew-r80", output=tmp_path, export=wrong, **SMALL)
