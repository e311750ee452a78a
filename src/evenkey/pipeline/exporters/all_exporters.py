"""All exporters of a run: made from their addresses, fed together, closed together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import unknown_name
from evenkey.core.stores import LocalStore, local_path, scheme_of, store_at
from evenkey.pipeline.exporters.export_address import ExportAddress
from evenkey.pipeline.exporters.influxdb import InfluxDB
from evenkey.pipeline.exporters.kafka import Kafka
from evenkey.pipeline.exporters.outlet import Outlet
from evenkey.pipeline.exporters.parquet import Parquet
from evenkey.pipeline.exporters.prometheus import Prometheus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

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
        message = f"export = {address.text!r}: it is a file or in one; write parquet:DIRECTORY"
        raise ConfigurationError(message)


def _directory(address: ExportAddress) -> Store:
    if scheme_of(address.path) == "file":
        return store_at(local_path(address.path).expanduser())
    return store_at(address.path)


class _Kind(NamedTuple):
    """A kind of exporters: how its addresses are written, made into exporters, and checked."""

    written: str
    make: Maker
    check: Callable[[ExportAddress], None]


_KINDS = {
    "influxdb": _Kind("influxdb://HOST:PORT/DATABASE", InfluxDB, InfluxDB.check),
    "prometheus": _Kind("prometheus://HOST:PORT", Prometheus, Prometheus.check),
    "parquet": _Kind("parquet:DIRECTORY", _parquet, _check_parquet),
    "kafka": _Kind("kafka://SERVERS/TOPIC", Kafka, Kafka.check),
}
"""By the name before the colon. Where no ``//`` follows it, the rest of an address is a path."""

ADDRESSES = ", ".join(each.written for each in _KINDS.values())
"""How addresses of all kinds are written, for the help of the option."""


def _parsed(text: str) -> ExportAddress:
    return ExportAddress.parse(text, [each.written for each in _KINDS.values()])


def check_address(text: str) -> str:
    """Make sure that there is such an exporter; give the address back.

    Raises
    ------
    ConfigurationError
        The address cannot be read, is of no known kind, cannot be one of that kind, or holds
        a password. Whether anything answers there is not looked at.

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
    """Exporters side by side, each behind a queue of its own.

    Parameters
    ----------
    addresses
        Where to.
    run
        Whose records come.
    history
        Where the run's own history lies, besides; None is nowhere.
    held
        Says whether this process may still write the history.

    Raises
    ------
    ConfigurationError
        One of them cannot be made; none is left open.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        run: RunInfo,
        *,
        history: str | Path | Store | None = None,
        held: Callable[[], bool] = lambda: True,
    ) -> None:
        self.run = run
        self._outlets: list[Outlet] = []
        self._asked_for = len(addresses)
        try:
            for text in addresses:
                address = _parsed(text)
                exporter = _KINDS[address.kind].make(address, run)
                self._outlets.append(Outlet(exporter, capacity=address.whole("queue", _QUEUE)))
            if history is not None:
                self._outlets.append(Outlet(Parquet(history, run, held)))
        except ConfigurationError:
            self.close("failed")
            raise

    def __bool__(self) -> bool:
        return bool(self._outlets)

    def offer(self, record: EpochRecord) -> None:
        """Hand a record to all of them; never waits."""
        for outlet in self._outlets:
            outlet.offer(record)

    def lacks(self, epoch: int) -> bool:
        """Say whether one of them keeps the epochs of the run, and not this one."""
        return any(outlet.lacks(epoch) for outlet in self._outlets)

    def complete(self, record: EpochRecord) -> None:
        """Hand a record of an epoch that an earlier process ran to those that lack it."""
        for outlet in self._outlets:
            if outlet.lacks(record.epoch):
                outlet.offer(record)

    def close(self, ending: Ending) -> tuple[ExportSummary, ...]:
        """Close all of them; report on those that were asked for, and a history that failed."""
        summaries = [outlet.close(ending) for outlet in self._outlets]
        own = [each for each in summaries[self._asked_for :] if each.error is not None]
        return (*summaries[: self._asked_for], *own)
