"""The samples that Prometheus scrapes."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.exporters import Exports
from tests.exporters.records import JOIN, RUN, closing_record, join_record, record
from tests.servers import eventually, fetch, free_port


def scrape(port, run=RUN):
    samples = {}
    labels = {"run": run.run, "dataset": run.dataset, "grouping": run.grouping}
    for family in text_string_to_metric_families(fetch(f"http://127.0.0.1:{port}/metrics")):
        for sample in family.samples:
            own = {k: v for k, v in sample.labels.items() if k not in labels}
            assert sample.labels.items() >= labels.items()
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
    assert samples["evenkey_messages_per_second",] == 66.5
    assert samples["evenkey_epoch_duration_seconds",] == 1.0
    assert samples["evenkey_makespan_seconds",] == 2.5
    assert samples["evenkey_stddev_percent",] == 10
    assert samples["evenkey_dist_cost",] == 1.25
    assert samples["evenkey_duration_p99_seconds",] == 1.1
    assert samples["evenkey_loads", ("worker", "0")] == 120
    hottest = ("key", "Turkey"), ("rank", "1")
    assert samples["evenkey_hot_key_messages", *hottest] == 80
    assert samples["evenkey_hot_key_workers", *hottest] == 2
    second = ("key", 'a "b"'), ("rank", "2")
    assert samples["evenkey_hot_key_workers", *second] == 1
    assert samples["evenkey_hot_key_run_workers", *second] == 2
    assert exports.close("finished")[0].points == 2
    with pytest.raises(OSError, match="refused"):
        scrape(port)


def test_figures_of_the_last_input_stay_while_windows_close():
    port = free_port()
    exports = Exports([f"prometheus://127.0.0.1:{port}"], RUN)
    exports.offer(record(0))
    exports.offer(closing_record(1))
    samples = eventually(lambda: (now := scrape(port)) and now["evenkey_epoch",] == 1 and now)
    assert (samples["evenkey_makespan_seconds",], samples["evenkey_lag",]) == (6.5, 0)
    assert samples["evenkey_epoch_max_over_mean",] == 1.4
    assert samples["evenkey_hot_key_messages", ("key", "Turkey"), ("rank", "1")] == 80
    exports.close("finished")


def test_a_join_has_its_own_figures():
    port = free_port()
    exports = Exports([f"prometheus://127.0.0.1:{port}"], JOIN)
    exports.offer(join_record(1))
    samples = eventually(lambda: scrape(port, JOIN))
    assert (samples["evenkey_mldc",], samples["evenkey_mldc_threshold",]) == (0.4, 0.5)
    assert samples["evenkey_moved_partitions_total",] == 3
    assert samples["evenkey_epoch_static_loads",] == 3
    assert samples["evenkey_loads", ("worker", "1")] == 60_000
    assert samples["evenkey_static_partitions", ("worker", "1")] == 4
    exports.close("finished")


def test_a_port_in_use_is_reported_before_the_run():
    port = free_port()
    first = Exports([f"prometheus://127.0.0.1:{port}"], RUN)
    with pytest.raises(ConfigurationError, match=r"cannot listen on .* another port"):
        Exports([f"prometheus://127.0.0.1:{port}"], RUN)
    first.close("finished")
    Exports([f"prometheus://127.0.0.1:{port}"], RUN).close("finished")
