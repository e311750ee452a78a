"""What Prometheus scrapes."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenkey.errors import ConfigurationError
from evenkey.exporters import Exports
from tests.exporters.records import RUN, record
from tests.servers import eventually, fetch, free_port

LABELS = {"run": "dkg-1", "dataset": "country-skew-r80", "grouping": "dkg(warm_up=5)"}


def scrape(port):
    samples = {}
    for family in text_string_to_metric_families(fetch(f"http://127.0.0.1:{port}/metrics")):
        for sample in family.samples:
            own = {k: v for k, v in sample.labels.items() if k not in LABELS}
            assert sample.labels.items() >= LABELS.items()
            samples[sample.name, *sorted(own.items())] = sample.value
    return samples


def test_the_latest_record_is_served():
    port = free_port()
    exports = Exports([f"prometheus://127.0.0.1:{port}"], RUN)
    assert scrape(port) == {}
    for epoch in range(2):
        exports.offer(record(epoch))
    samples = eventually(
        lambda: (now := scrape(port)) and now["evenkey_messages_total",] == 200 and now
    )
    assert samples["evenkey_epoch",] == 1
    assert samples["evenkey_rejected_total",] == 3
    assert samples["evenkey_throughput",] == 66.5
    assert samples["evenkey_epoch_seconds",] == 1.0
    assert samples["evenkey_std_dev_percent",] == 10
    assert samples["evenkey_dist_cost",] == 1.25
    assert samples["evenkey_latency_seconds", ("quantile", "0.99")] == 1.1
    assert samples["evenkey_load", ("worker", "0")] == 120
    hottest = ("key", "Turkey"), ("rank", "1")
    assert samples["evenkey_hot_key_messages", *hottest] == 80
    assert samples["evenkey_hot_key_workers", *hottest] == 2
    assert exports.close("finished")[0].points == 2
    with pytest.raises(OSError, match="refused"):
        scrape(port)


def test_a_port_that_is_taken_is_told_before_the_run():
    port = free_port()
    first = Exports([f"prometheus://127.0.0.1:{port}"], RUN)
    with pytest.raises(ConfigurationError, match=r"cannot be listened at .* another port"):
        Exports([f"prometheus://127.0.0.1:{port}"], RUN)
    first.close("finished")
    Exports([f"prometheus://127.0.0.1:{port}"], RUN).close("finished")
