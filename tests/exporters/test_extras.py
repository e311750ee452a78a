"""An error about a missing package names the extra to install."""

from __future__ import annotations

import sys

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports
from evenkey.reports.dashboard import Server
from tests.exporters.records import RUN


@pytest.mark.parametrize(
    ("address", "package", "extra"),
    [
        ("influxdb://localhost/db", "influxdb", "influxdb"),
        ("prometheus://localhost", "prometheus_client", "prometheus"),
        ("kafka://localhost/topic", "confluent_kafka", "kafka"),
    ],
)
def test_exporters_name_their_extra(monkeypatch, address, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=rf"package {package}.*'evenkey\[{extra}\]'"):
        Exports([address], RUN)


def test_the_dashboard_names_its_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "dash", None)
    with pytest.raises(ConfigurationError, match=r"package dash,.*'evenkey\[dashboard\]'"):
        Server([tmp_path])
