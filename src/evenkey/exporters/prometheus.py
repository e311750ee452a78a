"""Export to Prometheus: the latest record at ``/metrics``."""

from __future__ import annotations

import socket
import threading
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from evenkey.errors import ConfigurationError
from evenkey.exporters.base import Exporter
from evenkey.exporters.extras import load_extra
from evenkey.exporters.served_hosts import ServedHosts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from wsgiref.types import WSGIApplication

    from evenkey.exporters.address import Address, HostPort
    from evenkey.exporters.base import Ending
    from evenkey.exporters.record import EpochRecord, RunInfo

__all__ = ["Prometheus"]

_PORT = 9108
_LONGEST_LABEL = 64

_FAMILIES: dict[str, tuple[str, str, float]] = {
    "evenkey_epoch": ("Number of the last epoch that ended.", "epoch", 1),
    "evenkey_epoch_messages": ("Messages of that epoch.", "messages", 1),
    "evenkey_duration_seconds": ("Since the first epoch started.", "duration", 1),
    "evenkey_throughput": ("Messages a second over the duration.", "throughput", 1),
    "evenkey_epoch_throughput": ("Messages a second in the last epoch.", "epoch_throughput", 1),
    "evenkey_epoch_seconds": ("How long the last epoch took.", "latency_ms", 1e-3),
    "evenkey_std_dev_percent": ("Standard deviation of loads, % of messages.", "std_dev", 1),
    "evenkey_epoch_std_dev_percent": ("The same of the last epoch.", "epoch_std_dev", 1),
    "evenkey_dist_cost": ("Mean number of workers a key lies on.", "dist_cost", 1),
    "evenkey_epoch_dist_cost": ("The same of the last epoch.", "epoch_dist_cost", 1),
    "evenkey_max_over_mean": ("Fullest worker over the mean.", "max_over_mean", 1),
    "evenkey_epoch_max_over_mean": ("The same of the last epoch.", "epoch_max_over_mean", 1),
}
"""Gauges with one sample a run: name to help, figure of the record, and factor."""


class Prometheus(Exporter):
    """Serves the latest record at ``http://HOST:PORT/metrics`` for as long as the run lasts.

    Parameters
    ----------
    address
        ``prometheus://HOST[:PORT][?allow-host=NAME,...]``, port 9108 where none is given. Only
        hosts of `ServedHosts` and those that are allowed are answered.
    run
        Whose records come; its name, dataset and grouping label every sample.

    Raises
    ------
    ConfigurationError
        The address cannot be listened at, a host that is allowed is none, or the package is
        missing.
    """

    def __init__(self, address: Address, run: RunInfo) -> None:
        self.check(address)
        at = address.host_port(_PORT)
        client = load_extra("prometheus_client", "prometheus", "export to Prometheus")
        self._core = load_extra("prometheus_client.core", "prometheus", "export to Prometheus")
        self._address = address
        self._labels = {"run": run.run, "dataset": run.dataset, "grouping": run.grouping}
        self._latest: EpochRecord | None = None
        registry = client.CollectorRegistry()
        registry.register(self)
        named = address.options.get("allow-host")
        served = ServedHosts(
            client.make_wsgi_app(registry),
            at.host,
            [] if named is None else named.split(","),
            how="?allow-host=NAME at the end of its prometheus:// address",
        )
        try:
            self._server = _listening(at, served)
        except OSError as error:
            message = (
                f"export = {address.text!r}: {at.host}:{at.port} cannot be listened at "
                f"({error.strerror}); choose another port"
            )
            raise ConfigurationError(message) from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @staticmethod
    def check(address: Address) -> None:
        """Refuse an address that cannot be one of Prometheus."""
        address.only("queue", "allow-host")
        address.host_port(_PORT)

    @property
    def to(self) -> str:
        """The address."""
        return self._address.text

    def points(self, record: EpochRecord) -> list[EpochRecord]:
        """The record itself: only the latest is served."""
        return [record]

    def write(self, points: Sequence[EpochRecord]) -> None:
        """Serve the last of the records from now on."""
        self._latest = points[-1]

    def close(self, ending: Ending) -> None:
        """Stop serving."""
        del ending
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def collect(self) -> Iterator[Any]:
        """Give all samples; Prometheus' library calls it for each scrape."""
        record = self._latest
        if record is None:
            return
        figures = record.figures()
        for name, (text, figure, factor) in _FAMILIES.items():
            yield self._family(name, text, [({}, factor * figures[figure])])
        yield self._counter("evenkey_messages", "Messages placed.", record.total_count)
        yield self._counter("evenkey_rejected", "Lines in dead letters.", record.rejected)
        yield self._family(
            "evenkey_latency_seconds",
            "Duration of epochs: percentiles over the run.",
            [
                ({"quantile": "0.5"}, record.latency_p50_ms / 1000),
                ({"quantile": "0.99"}, record.latency_p99_ms / 1000),
            ],
        )
        yield self._family(
            "evenkey_load",
            "Messages of a worker.",
            [({"worker": str(worker)}, load) for worker, load in enumerate(record.loads)],
        )
        yield self._family(
            "evenkey_hot_key_messages",
            "Messages of the last epoch's heaviest keys.",
            [(each, count) for each, count, _ in _hot_keys(record)],
        )
        yield self._family(
            "evenkey_hot_key_workers",
            "Workers that held them.",
            [(each, pool) for each, _, pool in _hot_keys(record)],
        )

    def _family(self, name: str, text: str, samples: Sequence[tuple[dict[str, str], float]]) -> Any:
        own = list(samples[0][0]) if samples else []
        family = self._core.GaugeMetricFamily(name, text, labels=[*self._labels, *own])
        for labels, value in samples:
            family.add_metric([*self._labels.values(), *labels.values()], value)
        return family

    def _counter(self, name: str, text: str, value: int) -> Any:
        family = self._core.CounterMetricFamily(name, text, labels=list(self._labels))
        family.add_metric(list(self._labels.values()), value)
        return family


def _hot_keys(record: EpochRecord) -> list[tuple[dict[str, str], int, int]]:
    return [
        ({"rank": str(rank), "key": hot.key[:_LONGEST_LABEL]}, hot.messages, len(hot.pool))
        for rank, hot in enumerate(record.hottest, start=1)
    ]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    """Keeps a line a scrape off the terminal."""

    def log_message(self, format: str, *_values: object) -> None:  # noqa: A002 - the base's name
        pass


def _listening(at: HostPort, application: WSGIApplication) -> WSGIServer:
    family, *_, place = socket.getaddrinfo(
        at.host, at.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]

    class Server(_Server):
        address_family = family

    return make_server(str(place[0]), at.port, application, Server, _Quiet)
