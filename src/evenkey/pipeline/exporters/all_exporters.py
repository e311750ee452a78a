"""Create the exporters of a run from their addresses, feed them, and close them together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import unknown_name
from evenkey.core.stores import LocalStore, local_path, scheme_of, store_at
from evenkey.pipeline.exporters.export_address import ExportAddress
from evenkey.pipeline.exporters.history import Parquet
from evenkey.pipeline.exporters.influxdb import InfluxDB
from evenkey.pipeline.exporters.kafka import Kafka
from evenkey.pipeline.exporters.outlet import Outlet
from evenkey.pipeline.exporters.prometheus import Prometheus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.core.stores import Store
    from evenkey.pipeline.exporters.base import Ending, Exporter, ExportSummary
    from evenkey.pipeline.exporters.epoch_record import EpochRecord, RunInfo

    Maker: TypeAlias = Callable[[ExportAddress, RunInfo], Exporter]

_QUEUE = 50_000


def _parquet(address: ExportAddress, run: RunInfo) -> Exporter:
    name = re.sub(r"[^\w.=()-]", "_", run.run)
    return Parquet(_directory(address).under(name), run)


def _check_parquet(address: ExportAddress) -> None:
    if not address.path:
        message = f"export = {address.text!r}: it names no directory; write parquet:DIRECTORY"
        raise ConfigurationError(message)
    store = _directory(address)
    if not isinstance(store, LocalStore):
        return
    directory = store.directory
    if any(each.is_file() for each in (directory, *directory.parents)):
        message = f"export = {address.text!r}: it is or is in a file; write parquet:DIRECTORY"
        raise ConfigurationError(message)


def _directory(address: ExportAddress) -> Store:
    if scheme_of(address.path) == "file":
        return store_at(local_path(address.path).expanduser())
    return store_at(address.path)


class _Kind(NamedTuple):
    """A kind of exporter: the form of addresses, the constructor, and the check of an address."""

    written: str
    make: Maker
    check: Callable[[ExportAddress], None]


_KINDS = {
    "influxdb": _Kind("influxdb://HOST:PORT/DATABASE", InfluxDB, InfluxDB.check),
    "prometheus": _Kind("prometheus://HOST:PORT", Prometheus, Prometheus.check),
    "parquet": _Kind("parquet:DIRECTORY", _parquet, _check_parquet),
    "kafka": _Kind("kafka://SERVERS/TOPIC", Kafka, Kafka.check),
}
"""Kinds of exporters, by the name before the colon of an address. If the form has no ``//`` after
the colon, the rest of the address is a path."""

ADDRESSES = ", ".join(each.written for each in _KINDS.values())
"""The forms of all addresses, for the help of the option ``export``."""


def _parsed(text: str) -> ExportAddress:
    return ExportAddress.parse(text, [each.written for each in _KINDS.values()])


def check_address(text: str) -> str:
    """Check that an address names an exporter, without opening a connection; return the address.

    Raises
    ------
    ConfigurationError
        The address cannot be parsed, has an unknown kind, is invalid for its kind, or contains a
        password.

    Examples
    --------
    >>> check_address("prometheus://127.0.0.1:9108")
    'prometheus://127.0.0.1:9108'
    """
    address = _parsed(text)
    if address.kind not in _KINDS:
        kind = "exporter"
        raise unknown_name(kind, address.kind, _KINDS)
    _KINDS[address.kind].check(address)
    address.whole("queue", _QUEUE)
    return text


class Exports:
    """Exporters of one run, each with its own queue.

    Parameters
    ----------
    addresses
        Addresses of the exporters.
    run
        The run whose records are exported.
    own
        Function that makes the exporter of the run's own history; None: no history.

    Raises
    ------
    ConfigurationError
        An exporter cannot be created; the exporters created before it are closed.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        run: RunInfo,
        own: Callable[[RunInfo], Exporter] | None = None,
    ) -> None:
        self.run = run
        self._outlets: list[Outlet] = []
        self._requested = len(addresses)
        try:
            for text in addresses:
                address = _parsed(text)
                exporter = _KINDS[address.kind].make(address, run)
                self._outlets.append(Outlet(exporter, capacity=address.whole("queue", _QUEUE)))
            if own is not None:
                self._outlets.append(Outlet(own(run)))
        except ConfigurationError:
            for outlet in self._outlets:
                outlet.close("failed")
            raise

    def __bool__(self) -> bool:
        return bool(self._outlets)

    def offer(self, record: EpochRecord) -> None:
        """Queue a record for all exporters; never waits."""
        for outlet in self._outlets:
            outlet.offer(record)

    def lacks(self, epoch: int) -> bool:
        """Return whether some exporter stores the epochs of the run but lacks this epoch."""
        return any(outlet.lacks(epoch) for outlet in self._outlets)

    def complete(self, record: EpochRecord) -> None:
        """Queue the record of an earlier process's epoch for the exporters that lack this epoch."""
        for outlet in self._outlets:
            if outlet.lacks(record.epoch):
                outlet.offer(record)

    def close(self, ending: Ending) -> tuple[ExportSummary, ...]:
        """Close all exporters; return their summaries, the history's only if the history failed."""
        summaries = [outlet.close(ending) for outlet in self._outlets]
        own = [each for each in summaries[self._requested :] if each.error is not None]
        return (*summaries[: self._requested], *own)
