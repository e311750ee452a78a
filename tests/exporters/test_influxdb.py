"""Export to a real InfluxDB, and to an unreachable one."""

from __future__ import annotations

import dataclasses

import influxdb
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports
from tests.exporters.records import RUN, record
from tests.servers import InfluxServer, eventually, fetch, free_port

SECRET = "hunter2"


@pytest.fixture(scope="module")
def influx(tmp_path_factory):
    with InfluxServer(tmp_path_factory.mktemp("influxdb"), auth=True) as server:
        yield server


def test_points_arrive_and_passwords_do_not(influx, monkeypatch):
    monkeypatch.setenv("EVENKEY_INFLUXDB_PASSWORD", SECRET)
    create = f"CREATE USER me WITH PASSWORD '{SECRET}' WITH ALL PRIVILEGES"
    influxdb.InfluxDBClient("127.0.0.1", influx.port).query(create, method="POST")
    address = influx.address.replace("//", "//me@")
    exports = Exports([address], dataclasses.replace(RUN, dataset="a, b=c 'd' \"e\""))
    for epoch in range(3):
        exports.offer(record(epoch))
    (summary,) = exports.close("finished")
    assert (summary.points, summary.dropped, summary.error) == (15, 0, None)

    def column(query):
        (series,) = influx.query(query, u="me", p=SECRET)
        return [value for _, value in series["values"]]

    assert column("SELECT loads FROM evenkey_worker WHERE worker = '1'") == [40, 80, 120]
    assert column("SELECT messages FROM evenkey_epoch") == [100, 200, 300]
    assert column("""SELECT "key" FROM evenkey_hot_key WHERE rank = '2'""") == ['a "b"'] * 3
    (names,) = influx.query("SHOW TAG VALUES WITH KEY = dataset", u="me", p=SECRET)[:1]
    assert names["values"] == [["dataset", "a, b=c 'd' \"e\""]]

    monkeypatch.setenv("EVENKEY_INFLUXDB_PASSWORD", SECRET + "wrong")
    refused = Exports([address], RUN)
    refused.offer(record(0))
    (summary,) = refused.close("finished")
    assert (summary.points, summary.dropped) == (0, 5)
    assert "authorization failed" in str(summary.error)
    assert SECRET not in repr(summary)
    with pytest.raises(OSError, match="401"):
        fetch(f"{influx.url}/query", db="evenkey", q="SHOW MEASUREMENTS")


def test_an_unreachable_influxdb_is_reported_at_the_end():
    exports = Exports([f"influxdb://127.0.0.1:{free_port()}/evenkey"], RUN)
    exports.offer(record(0))
    eventually(lambda: exports._outlets[0]._error)
    (summary,) = exports.close("finished")
    assert (summary.points, summary.dropped) == (0, 5)
    assert summary.error == "no answer (ConnectionError)"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("influxdb://localhost", "names no database; add /DATABASE"),
        ("influxdb://localhost/db?tls=yes", "tls = 'yes' must be true or false"),
        ("influxdb://me@localhost/db", "no password for 'me'; set EVENKEY_INFLUXDB_PASSWORD"),
        ("influxdb://localhost/db?format=json", "no option 'format'; it has queue, tls"),
    ],
)
def test_invalid_addresses_are_reported_before_the_run(address, message):
    with pytest.raises(ConfigurationError, match=message):
        Exports([address], RUN)
