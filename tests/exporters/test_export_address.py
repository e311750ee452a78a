"""Addresses of exporters: passwords are neither accepted nor repeated."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.exporters import check_address
from evenkey.pipeline.exporters.export_address import ExportAddress, HostPort

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"influxdb://me:{SECRET}@localhost:8086/evenkey",
        f"influxdb://:{SECRET}@localhost/evenkey",
        f"influxdb://localhost/evenkey?password={SECRET}",
        f"kafka://localhost:9092/metrics?format=json&sasl.password={SECRET}",
        f"kafka://localhost:9092/metrics?ssl.keystore.pem={SECRET}",
        f"nonsense://me:{SECRET}@localhost",
    ],
)
def test_a_password_is_rejected_and_not_repeated(text):
    with pytest.raises(ConfigurationError, match="_PASSWORD") as caught:
        PipelineConfig(dataset="country-skew-r80", export=text)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "it is not an address; write one of influxdb://"),
        ("influxdb:///evenkey", "it is not an address"),
        ("influx://localhost/evenkey", r"unknown exporter 'influx' \(did you mean 'influxdb'"),
        ("parquet:", "names no directory"),
    ],
)
def test_invalid_addresses_are_rejected(text, message):
    with pytest.raises(ConfigurationError, match=message):
        check_address(text)


def test_a_configuration_has_one_or_several_addresses():
    one = PipelineConfig(dataset="country-skew-r80", export="parquet:metrics")
    assert one.export == ("parquet:metrics",)
    two = one.with_options(export=["parquet:metrics", "prometheus://127.0.0.1"])
    assert two.manifest()["export"] == ["parquet:metrics", "prometheus://127.0.0.1"]


def test_hosts_and_ports():
    assert ExportAddress.parse("prometheus://[::1]:90").host_port(9108) == HostPort("::1", 90)
    assert ExportAddress.parse("prometheus://box").host_port(9108) == HostPort("box", 9108)
    for text in ("prometheus://box:99999", "prometheus://box:x", "prometheus://a:1,b:2"):
        with pytest.raises(ConfigurationError, match="is not a HOST or HOST:PORT"):
            ExportAddress.parse(text).host_port(9108)


def test_options_are_checked():
    address = ExportAddress.parse("influxdb://box/db?queue=10&color=red")
    with pytest.raises(ConfigurationError, match="no option 'color'; it has queue, tls"):
        address.only("queue", "tls")
    assert (address.whole("queue", 5), address.whole("size", 5)) == (10, 5)
    with pytest.raises(ConfigurationError, match="queue = '0' must be a whole number"):
        ExportAddress.parse("influxdb://box/db?queue=0").whole("queue", 5)
