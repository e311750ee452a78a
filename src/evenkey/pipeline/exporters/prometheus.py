"""Export to Prometheus: the latest record at ``/metrics``."""

from __future__ import annotations

import socket
import threading
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.core.metrics import FIGURES
from evenkey.pipeline.exporters.base import Exporter
from evenkey.pipeline.exporters.served_hosts import ServedHosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from wsgiref.types import WSGIApplication

    from evenkey.core.metrics import Figure
    from evenkey.pipeline.exporters.base import Ending
    from evenkey.pipeline.exporters.epoch_record import EpochRecord, HotKey, RunInfo
    from evenkey.pipeline.exporters.export_address import ExportAddress, HostPort

_PORT = 9108
_LONGEST_LABEL = 64

_MS_A_SECOND = 1000

_OF_HOT_KEYS: tuple[tuple[str, str, Callable[[HotKey], int]], ...] = (
    (
        "messages",
        "Messages of the hottest keys of the last epoch with input.",
        lambda hot: hot.messages,
    ),
    (
        "workers",
        "Workers of the hottest keys in the last epoch with input.",
        lambda hot: len(hot.pool),
    ),
    (
        "run_workers",
        "Workers that the hottest keys of the last epoch with input have had in the run so far.",
        lambda hot: hot.run_workers,
    ),
)
"""Metrics of hot keys: the end of the name, the help text, and the value."""


class Prometheus(Exporter):
    """Serves the latest record at ``http://HOST:PORT/metrics`` until the run ends.

    Parameters
    ----------
    address
        ``prometheus://HOST[:PORT][?allow-host=NAME,...]``, by default port 9108. A request is
        answered only if it is for an allowed host, or for a host that `ServedHosts` always serves.
    run
        The run whose records are exported; its name, dataset and grouping label every sample.

    Raises
    ------
    ConfigurationError
        The port cannot be opened, an allowed host is invalid, or the package is missing.
    """

    def __init__(self, address: ExportAddress, run: RunInfo) -> None:
        self.check(address)
        at = address.host_port(_PORT)
        client = load_extra("prometheus_client", "prometheus", "export to Prometheus")
        self._core = load_extra("prometheus_client.core", "prometheus", "export to Prometheus")
        self._address = address
        self._labels = {"run": run.run, "dataset": run.dataset, "grouping": run.grouping}
        self._latest: EpochRecord | None = None
        self._last_input: EpochRecord | None = None
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
                f"export = {address.text!r}: cannot listen on {at.host}:{at.port} "
                f"({error.strerror}); choose another port"
            )
            raise ConfigurationError(message) from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @staticmethod
    def check(address: ExportAddress) -> None:
        """Reject an address that is invalid for Prometheus."""
        address.only("queue", "allow-host")
        address.host_port(_PORT)

    @property
    def to(self) -> str:
        """The address."""
        return self._address.text

    def points(self, record: EpochRecord) -> list[EpochRecord]:
        """Return the record itself; only the latest record is served."""
        return [record]

    def write(self, points: Sequence[EpochRecord]) -> None:
        """Serve the last of the records from now on."""
        self._latest = points[-1]
        held = [each for each in points if each.get("epoch_loads") is not None]
        self._last_input = held[-1] if held else self._last_input

    def close(self, ending: Ending) -> None:
        """Stop serving."""
        del ending
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def collect(self) -> Iterator[Any]:
        """Yield all metrics; Prometheus' library calls this method for each scrape."""
        record = self._latest
        if record is None:
            return
        yield self._family(
            "evenkey_epoch", "Number of the last epoch that ended.", [({}, record.epoch)]
        )
        # An epoch that only closes windows has no figures of its own input.
        last = record if self._last_input is None else self._last_input
        for name, value in {**last.figures, **record.figures}.items():
            yield self._figure(FIGURES[name], value)
        for ending, text, of_key in _OF_HOT_KEYS:
            yield self._family(
                f"evenkey_hot_key_{ending}",
                text,
                [
                    ({"rank": str(rank), "key": hot.key[:_LONGEST_LABEL]}, of_key(hot))
                    for rank, hot in enumerate(last.hottest, start=1)
                ],
            )

    def _family(self, name: str, text: str, samples: Sequence[tuple[dict[str, str], float]]) -> Any:
        own = list(samples[0][0]) if samples else []
        family = self._core.GaugeMetricFamily(name, text, labels=[*self._labels, *own])
        for labels, value in samples:
            family.add_metric([*self._labels.values(), *labels.values()], value)
        return family

    def _figure(self, figure: Figure, value: Any) -> Any:
        """Convert a figure to a metric, with name and unit by Prometheus' conventions."""
        name, text = prometheus_name(figure), figure.text
        if figure.by_worker:
            return self._family(name, text, [({"worker": str(w)}, v) for w, v in enumerate(value)])
        if figure.counts_up:
            family = self._core.CounterMetricFamily(name, text, labels=list(self._labels))
            family.add_metric(list(self._labels.values()), value)
            return family
        return self._family(
            name, text, [({}, value / _MS_A_SECOND if figure.unit == "ms" else value)]
        )


def prometheus_name(figure: Figure) -> str:
    """Return a figure's name in Prometheus: times end in _seconds, counters end in _total.

    Examples
    --------
    >>> [prometheus_name(FIGURES[name]) for name in ("epoch_duration_ms", "messages")]
    ['evenkey_epoch_duration_seconds', 'evenkey_messages_total']
    """
    name = figure.name.removesuffix("_ms") + ("_seconds" if figure.unit == "ms" else "")
    return f"evenkey_{name}{'_total' if figure.counts_up else ''}"


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    """Request handler that writes no log line per scrape."""

    def log_message(self, format: str, *_values: object) -> None:  # noqa: A002 - the base's name
        pass


def _listening(at: HostPort, application: WSGIApplication) -> WSGIServer:
    family, *_, place = socket.getaddrinfo(
        at.host, at.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]

    class Server(_Server):
        address_family = family

    return make_server(str(place[0]), at.port, application, Server, _Quiet)
