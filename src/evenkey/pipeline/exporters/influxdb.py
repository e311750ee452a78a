"""Export to InfluxDB by line protocol, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.core.secrets import secret
from evenkey.pipeline.exporters.base import Exporter, Unreachable
from evenkey.pipeline.exporters.line_protocol import lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.pipeline.exporters.base import Ending
    from evenkey.pipeline.exporters.epoch_record import EpochRecord, RunInfo
    from evenkey.pipeline.exporters.export_address import ExportAddress

_PORT = 8086
_TIMEOUT_SECONDS = 5
_NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 404, 429, 500


class InfluxDB(Exporter):
    """Writes to ``influxdb://[USER@]HOST[:PORT]/DATABASE``.

    Creates the database if it does not exist. The user's password comes from
    ``EVENKEY_INFLUXDB_PASSWORD``, or from the file that ``EVENKEY_INFLUXDB_PASSWORD_FILE``
    names. InfluxDB stores a point only once, even if it is written twice. So a batch is written
    again if the server's answer was lost.

    Parameters
    ----------
    address
        Address of the database. Its options are ``tls=true`` and ``queue`` (maximum number of
        queued points).
    run
        The run whose records are exported.

    Raises
    ------
    ConfigurationError
        The address is invalid, or the package is missing.
    """

    def __init__(self, address: ExportAddress, run: RunInfo) -> None:
        self.check(address)
        at = address.host_port(_PORT)
        password = secret("EVENKEY_INFLUXDB_PASSWORD")
        if address.user is not None and password is None:
            message = (
                f"export = {address.text!r}: no password for {address.user!r}; set "
                "EVENKEY_INFLUXDB_PASSWORD or EVENKEY_INFLUXDB_PASSWORD_FILE"
            )
            raise ConfigurationError(message)
        self._address = address
        self._run = run
        self._module = load_extra("influxdb", "influxdb", "export to InfluxDB")
        self._client: Any = self._module.InfluxDBClient(
            at.host,
            at.port,
            username=address.user,
            password=password if address.user is not None else None,
            database=address.path,
            ssl=address.options.get("tls") == "true",
            verify_ssl=True,
            timeout=_TIMEOUT_SECONDS,
            retries=1,  # the outlet tries again, and drops the oldest points if its queue is full
        )

    @staticmethod
    def check(address: ExportAddress) -> None:
        """Reject an address that is invalid for InfluxDB."""
        address.only("queue", "tls")
        address.host_port(_PORT)
        if not address.path:
            message = f"export = {address.text!r}: it names no database; add /DATABASE"
            raise ConfigurationError(message)
        tls = address.options.get("tls", "false")
        if tls not in ("true", "false"):
            message = f"export = {address.text!r}: tls = {tls!r} must be true or false"
            raise ConfigurationError(message)

    @property
    def to(self) -> str:
        """The address, which never contains a password."""
        return self._address.text

    def points(self, record: EpochRecord) -> list[str]:
        """Return the record as lines of InfluxDB's line protocol."""
        return lines(self._run, record)

    def write(self, points: Sequence[str]) -> None:
        """Write all lines in one request."""
        import requests

        try:
            try:
                self._write(points)
            except self._module.exceptions.InfluxDBClientError as error:
                if error.code != _NOT_FOUND:
                    raise
                self._client.create_database(self._address.path)
                self._write(points)
        except requests.RequestException as error:
            message = f"no answer ({type(error).__name__})"
            raise Unreachable(message) from error
        except self._module.exceptions.InfluxDBServerError as error:
            message = f"not ready ({error})"
            raise Unreachable(message) from error
        except self._module.exceptions.InfluxDBClientError as error:
            if error.code is not None and error.code in (_TOO_MANY, *range(_SERVER_ERROR, 600)):
                message = f"not ready (status {error.code})"
                raise Unreachable(message) from error
            raise

    def close(self, ending: Ending) -> None:
        """Close the connections."""
        del ending
        self._client.close()

    def _write(self, points: Sequence[str]) -> None:
        self._client.write_points(list(points), time_precision="ms", protocol="line")
